#!/bin/zsh -f
# SPDX-License-Identifier: GPL-2.0-or-later
# Completes command lines as an interactive zsh does, in a pseudo-terminal: complete.zsh FOLDER FILE
# LINE… (FOLDER: of the completion functions). FILE gets the words that zsh would offer: those of a line,
# then `END`.
zmodload zsh/zpty
folder=$1 file=$2
shift 2
: >$file

wait_for() { # TIMES `END` has to be in the file
	integer tries
	local seen
	for ((tries = 0; tries < 600; tries++)); do
		# What is printed has to be read, or else the shell waits for that.
		while zpty -r -t shell seen; do :; done
		(($(grep -c '^END$' $file) >= $1)) && return
		sleep 0.05
	done
	print -u2 "zsh did not complete in 30 s"
	exit 1
}

# The words are those that reach compadd and fit. Keys are pressed once the line is being edited.
zpty shell zsh -f -i
zpty -w shell "stty columns 200; PROMPT=; fpath=(${(q)folder} \$fpath); autoload -Uz compinit; compinit -D
compadd() { local -a fit; builtin compadd -O fit \"\$@\"; print -rl -- \$IPREFIX\$^fit >>${(q)file}; builtin compadd \"\$@\" }
done_with() { print END >>${(q)file}; BUFFER= }; zle -N done_with; bindkey '^X^E' done_with
zle-line-init() { zle -D zle-line-init; print END >>${(q)file} }; zle -N zle-line-init"
wait_for 1
integer lines=1
for line; do
	zpty -w -n shell $line$'\t\x18\x05'
	wait_for $((++lines))
done
zpty -d shell
