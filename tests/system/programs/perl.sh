# needs: perl
perl -e '
use Fcntl ":flock"; use File::Temp "tempfile"; use POSIX ();
open my $f, "+>", "a" or die; flock $f, LOCK_EX or die; print $f "text"; close $f;
sysopen my $g, "a", O_RDWR|O_EXCL|O_CREAT or print "exists: $!\n";
opendir my $d, "." or die; print join(",", sort grep !/^\./, readdir $d), "\n";
my $p = open my $h, "-|", "echo piped" or die; print <$h>; close $h;
print `cat a`, "\n"; rename "a", "b" or die; symlink "b", "c"; print -s "c", "\n";
open my $m, "<", "nothing/here" or print "$!\n"; unlink "b", "c"; mkdir "d"; rmdir "d";
POSIX::mkfifo("f", 0600); if (!fork) { open my $w, ">", "f"; print $w "fifo\n"; exit }
open my $r, "<", "f"; print <$r>; wait; unlink "f";'
