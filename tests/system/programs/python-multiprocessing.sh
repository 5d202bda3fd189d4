# needs: python3
cat > m.py <<'END'
import multiprocessing, os, sys, tempfile, threading, shutil, subprocess
from multiprocessing import shared_memory
def work(n):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * n); file.flush()
        return os.path.getsize(file.name)
if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(3) as pool:
            print(how, pool.map(work, range(20)))
    block = shared_memory.SharedMemory(create=True, size=10)
    block.buf[0] = 7; other = shared_memory.SharedMemory(block.name)
    print(other.buf[0]); other.close(); block.close(); block.unlink()
    def thread(n):
        for i in range(20):
            os.makedirs(f"t{n}/{i}"); open(f"t{n}/{i}/f", "w").close()
            os.rename(f"t{n}/{i}", f"t{n}/r{i}")
    all = [threading.Thread(target=thread, args=(n,)) for n in range(8)]
    [t.start() for t in all]; [t.join() for t in all]
    shutil.rmtree("t3"); print(sorted(os.listdir(".")))
    print(subprocess.run(["cat"], input=b"abc", capture_output=True).stdout)
END
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 m.py
