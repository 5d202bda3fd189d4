# needs: gcc make
cp -r "$DATA/source" project; cd project
cat > Makefile <<'END'
objects := $(patsubst %.c,%.o,$(filter-out supervisor.c,$(wildcard *.c)))
program: $(objects)
	$(CC) -o $@ $^
%.o: %.c wrapper.h
	$(CC) -O1 -c -o $@ $<
clean:
	rm -f $(objects)
END
make -s -j3; make -s; touch ask.c; make -s; make -s clean; ls
ar rc libx.a program; nm -C program | wc -l; strip program
