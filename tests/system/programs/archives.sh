# needs: zip unzip xz dpkg-deb
# differs: un/two
cp -r "$DATA/many/2" two; zip -qrX two.zip two; unzip -qo two.zip -d un; diff -r two un/two
gzip -nk two/1; zcat two/1.gz | cmp - two/1; xz -k two/2; unxz -c two/2.xz | cmp - two/2
mkdir -p deb/DEBIAN deb/usr; echo x > deb/usr/x
printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@y>\n%s\n' \
    'Description: x' > deb/DEBIAN/control
SOURCE_DATE_EPOCH=0 dpkg-deb --root-owner-group -Znone -b deb x.deb; dpkg-deb -x x.deb out
dpkg-deb -c x.deb | wc -l; rm two.zip x.deb
