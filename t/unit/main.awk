# Makes a main() that runs every `void test_name(void)` of the file as TAP.
/^void test_[A-Za-z0-9_]+\(void\)$/ { sub(/^void /, ""); sub(/\(void\)$/, ""); t[++n] = $0 }
END {
	print "#include <stdio.h>\nint unit_failures;"
	for (i = 1; i <= n; i++) print "void " t[i] "(void);"
	print "int main(void)\n{\n\tint bad = 0;\n\tprintf(\"1.." n "\\n\");"
	for (i = 1; i <= n; i++) {
		print "\tunit_failures = 0;\n\t" t[i] "();\n\tbad += unit_failures != 0;"
		print "\tprintf(\"%sok " i " - " t[i] "\\n\", unit_failures ? \"not \" : \"\");\n\tfflush(stdout);"
	}
	print "\treturn bad != 0;\n}"
}
