# SPDX-License-Identifier: GPL-2.0-or-later
# A text file to C string literals, one a line: for #include inside an initializer.
s/[\\"]/\\&/g
s/^/"/
s/$/\\n"/
