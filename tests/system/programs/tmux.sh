# needs: tmux
export TMUX_TMPDIR="$PWD"
tmux -f /dev/null new-session -d -s s 'echo in tmux; tty > terminal; touch done; sleep 60'
while [ ! -e done ]; do sleep 0.1; done; grep -c /dev/pts terminal
tmux kill-server; rm -rf tmux-* terminal
