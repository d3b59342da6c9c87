"""Starts processes in every way that Python has, under the shared heap. Prints nothing on success."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading


def check(name: str, got: object, expected: object) -> None:
    if got != expected:
        sys.exit(f"{name}: got {got!r}, expected {expected!r}")


def squares(numbers: list[int]) -> list[int]:
    return [n * n for n in numbers]


def main() -> None:
    kept = [bytes([i % 251]) * 50_000 for i in range(200)]

    echo = [sys.executable, "-c", "print(sum(len('x' * 1000) for _ in range(1000)))"]
    check("subprocess", subprocess.check_output(echo), b"1000000\n")
    # A preexec_fn forces Python to use fork.
    check("subprocess with fork", subprocess.check_output(echo, preexec_fn=os.getpid), b"1000000\n")
    check("system", os.system("exit 5"), 5 << 8)
    with os.popen("echo one") as pipe:
        check("popen", pipe.read(), "one\n")

    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            got = list(pool.map(squares, [list(range(i * 1000)) for i in range(10)]))
        check(method, got, [squares(list(range(i * 1000))) for i in range(10)])

    # Fork while other threads allocate.
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            [bytearray(n) for n in range(0, 20_000, 100)]

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            kept.sort()
            right = all(block == bytes([block[0]]) * 50_000 for block in kept)
            os._exit(0 if right and len(set(kept)) == 200 else 1)
        check("fork with threads", os.waitpid(child, 0)[1], 0)
    stop.set()
    for thread in threads:
        thread.join()
    check("parent's data", [block[0] for block in kept], [i % 251 for i in range(200)])


if __name__ == "__main__":
    main()
