# Faults on purpose: load lib/faults, after lib/common.
# shellcheck shell=bash disable=SC2154,SC2034 # bats and the suite share these

# each_fault CALL MODE CMD... : runs CMD with its first CALL failing, then its second, and so on
# until it has had none left to fail (faults.c says what CALL and MODE are). Before each run the
# suite's `fresh` is called, after each `after FAULT`, with the status in $status and what it
# wrote in $output and $stderr; FAULT is "none" in the last round, which has to succeed.
# T_FAULT_ERRNO picks the error. $faults says how many calls there are to fail, at
# least. Each of the first twenty is tried, then ever fewer; T_FAULT_ALL=1 tries each.
each_fault() {
	local call=$1 mode=$2 hit=$BATS_TEST_TMPDIR/fault-hit n fault
	local preload=$BUILD_DIR/t/lib/faults.so
	local step=1
	shift 2
	sanitized && preload="$(gcc -print-file-name=libasan.so) $preload"
	for ((n = 1; n <= 100000; n += step)); do
		rm -f "$hit"
		fresh
		run --separate-stderr env LD_PRELOAD="$preload" T_FAULT_CALL="$call" T_FAULT_NTH=$n \
			T_FAULT_MODE="$mode" T_FAULT_HIT="$hit" ${T_FAULT_ERRNO:+T_FAULT_ERRNO=$T_FAULT_ERRNO} "$@"
		fault=none
		[ -e "$hit" ] && fault="$call $n $mode"
		if ! survived "$fault" "$call" "$mode" || ! after "$fault"; then
			printf 'fault: %s\nstatus: %s\nstdout: %s\nstderr: %s\n' \
				"$fault" "$status" "$output" "$stderr" >&2
			return 1
		fi
		if [ "$fault" = none ]; then
			faults=$((n - step))
			return 0
		fi
		[ -n "${T_FAULT_ALL:-}" ] || step=$((1 + n / 20))
	done
	echo "no end of $call after $n" >&2
	return 1
}

# How a command may end: with a status of its own and a message, or as the fault had it.
survived() {
	case $1,$2,$3 in
	none,*) [ "$status" = 0 ] ;;
	*,*,kill) [ "$status" = 137 ] ;;
	*,malloc,*) [ "$status" -lt 126 ] || [ "$status" = 134 ] ;; # out of memory aborts
	*) [ "$status" -lt 126 ] && { [ "$status" = 0 ] || [ -n "$stderr" ]; } ;;
	esac
}

sanitized() { ldd "$BIN/cloop" | grep -q libasan; }
