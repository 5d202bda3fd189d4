#!/bin/sh
# Install the completion scripts of PROGRAM, as the PYTHON of its environment prints them.
set -eu
python=$1 program=$2 destination=$3
share=$destination/usr/share

complete() {
    install -d "${2%/*}"
    "$python" -IB -c "
import sys
from importlib.metadata import entry_points
(command,) = entry_points(group='console_scripts', name='$program')
sys.argv = ['$program', 'completion', '$1']
sys.exit(command.load()())" >"$2"
    test -s "$2"
}

complete bash "$share/bash-completion/completions/$program"
complete zsh "$share/zsh/vendor-completions/_$program"
complete fish "$share/fish/vendor_completions.d/$program.fish"
