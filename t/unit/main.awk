# Makes a main() that runs every `void test_name(void)` of the file as TAP. What stands behind
# `#ifndef CL_SANITIZED` is skipped where that is defined.
/^#ifndef CL_SANITIZED$/ { depth = 1; next }
depth && /^#if/ { depth++ }
depth && /^#endif/ { depth-- }
/^void test_[A-Za-z0-9_]+\(void\)$/ { sub(/^void /, ""); sub(/\(void\)$/, ""); t[++n] = $0; only[n] = depth }
END {
	print "#include <stdio.h>\nint unit_failures;"
	for (i = 1; i <= n; i++) print "void " t[i] "(void);"
	print "int main(void)\n{\n\tint bad = 0;\n\tprintf(\"1.." n "\\n\");"
	for (i = 1; i <= n; i++) {
		if (only[i]) {
			print "#ifdef CL_SANITIZED"
			print "\tprintf(\"ok " i " - " t[i] " # SKIP a sanitizer is in its way\\n\");\n#else"
		}
		print "\tunit_failures = 0;\n\t" t[i] "();\n\tbad += unit_failures != 0;"
		print "\tprintf(\"%sok " i " - " t[i] "\\n\", unit_failures ? \"not \" : \"\");\n\tfflush(stdout);"
		if (only[i]) print "#endif"
	}
	print "\treturn bad != 0;\n}"
}
