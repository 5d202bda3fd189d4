# needs: tar find
tar -C "$DATA" -cf - many | tar -xf -
find many -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum
find many -type f -name '*7' -exec rm {} +; find many -type d -empty -delete
cp -a many copied; diff -r many copied && echo same
cp -al many linked; mv copied moved; ln -s many/one two; ln -sfn moved two
tar -cJf all.tar.xz --sort=name --mtime=@0 --owner=0 --group=0 many && tar -tf all.tar.xz
install -D -m 0640 two/1/1 deep/er/file; mktemp x.XXXX >/dev/null; rm x.*
split -b 3000 all.tar.xz part.; cat part.* | cmp - all.tar.xz; rm part.* all.tar.xz
sed -i 's/1/one/g' moved/*/1?; sort -o moved/1/1 moved/1/1; truncate -s 5 moved/1/2
dd if=moved/1/3 of=moved/new conv=excl,fsync status=none
dd if=moved/1/3 of=moved/new conv=excl status=none 2>/dev/null || echo exists
chmod -R u-w linked; rm -rf linked 2>/dev/null; chmod -R u+w linked 2>/dev/null || true
rm -rf linked
