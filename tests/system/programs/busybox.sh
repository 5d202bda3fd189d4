# needs: busybox
busybox sh -c 'for i in 1 2 3; do busybox echo $i > f$i; done; busybox cat f1 f2 f3'
busybox tar -cf x.tar f1 f2; busybox tar -tf x.tar; busybox find . -type f | busybox sort
busybox vi -c ':q!' f1 </dev/null >/dev/null 2>&1; busybox rm x.tar; busybox mv f1 f4
