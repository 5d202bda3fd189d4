# needs: script
script -qec 'tty | sed s/[0-9]*$//; test -t 0 && echo terminal; echo to > /dev/tty' /dev/null
script -qec "/bin/bash -c 'stty -a < /dev/tty | grep -o isig; [ -e /proc/self/fd/0 ]'" \
    /dev/null
script -qec "/bin/bash -ic 'sleep 20 & kill -STOP %1; kill -CONT %1; kill %1; wait %1;
    echo ended \$?' 2>/dev/null" /dev/null | tail -1
