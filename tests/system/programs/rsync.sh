# needs: rsync
cp -r "$DATA/many" from; rsync -aO --delete from/ to/; rm -r from/1; touch from/new
rsync -aiO --delete --checksum --out-format='%i %n' from/ to/ | sort
rsync -a --checksum --backup --suffix=.old --inplace from/2/ to/3/; diff -r from/2 to/2 && echo same
