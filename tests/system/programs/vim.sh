# needs: vim
seq 30 > numbers
vim -Nu NONE -es -c '%s/1/one/g' -c 'g/2/d' -c 'wq' numbers; cat numbers
vim -Nu NONE -es -c 'r !echo from a shell' -c 'w other' -c 'qa!' numbers; tail -1 other
vim -Nu NONE -es -c 'set backup backupcopy=yes' -c '1d' -c 'w' -c 'e!' -c 'wq' numbers
ls -A
