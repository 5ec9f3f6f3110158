# SPDX-License-Identifier: MIT
#
# runner.py - runs a step's Python code as the main program, and tells garth-init how it failed.
#   python3 runner.py REPORT CODE [ARG]...
# The code sees what a script sees: __main__, sys.argv, its own file name; sys.path begins with the working directory. Output is
# line-buffered, as at a terminal, so that it streams. An exception that ends the program is printed as usual, and written to REPORT
# as JSON {name, value, traceback, hint}. All that stands in REPORT is the program's own word: whoever reads it trusts nothing.
# It imports nothing that a script would not have loaded already: each import costs every step.
# Not here: the hints (hints.py, read only after a failure).
import os
import sys

REPORT_MAX = 32 * 1024  # bytes of JSON; garth-init takes no more
NAME_MAX = 200          # characters
VALUE_MAX = 4000
TRACEBACK_MAX = 16000
HINT_CPU_S = 0.2        # of processor time for finding a hint,
HINT_S = 1              # and by the clock: a busy machine is not the program's fault
SHOW_S = 5              # for printing the exception: str() of a class of the program may never end


def cut(text, limit):
    """The head and the tail of a text, and how much is missing between them."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return "%s\n[... %d characters cut ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def quote(text):
    """A JSON string in ASCII. A NUL or half a surrogate pair, which parsers refuse, becomes U+FFFD."""
    out = []
    for c in text:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif c == "\n":
            out.append("\\n")
        elif 32 <= n < 127:
            out.append(c)
        elif n == 0 or 0xD800 <= n < 0xE000:
            out.append("\\ufffd")
        elif n < 0x10000:
            out.append("\\u%04x" % n)
        else:
            n -= 0x10000
            out.append("\\u%04x\\u%04x" % (0xD800 + (n >> 10), 0xDC00 + (n & 0x3FF)))
    return '"' + "".join(out) + '"'


def encode(x):
    """JSON of dicts, lists, strings and numbers; not by the json module, which the program may have replaced."""
    if x is None or x is True or x is False:
        return {None: "null", True: "true", False: "false"}[x]
    if type(x) is int:
        return "%d" % x
    if type(x) in (list, tuple):
        return "[" + ", ".join([encode(v) for v in x]) + "]"
    if type(x) is dict:
        return "{" + ", ".join([quote(str(k)) + ": " + encode(v) for k, v in x.items()]) + "}"
    return quote(x if type(x) is str else str(x))


class TimeUp(BaseException):
    pass


class deadline:
    """Raises TimeUp after so many seconds, again and again: a bare except in hostile code swallows one."""

    def __init__(self, seconds, cpu_seconds):
        import _signal as s

        self.signal = s
        self.timers = ((s.ITIMER_REAL, s.SIGALRM, seconds), (s.ITIMER_PROF, s.SIGPROF, cpu_seconds))
        self.before = []

    def __enter__(self):
        def late(*_):
            raise TimeUp

        for timer, number, seconds in self.timers:
            self.before.append((number, self.signal.signal(number, late)))
            self.signal.setitimer(timer, seconds, seconds / 4)

    def __exit__(self, *exc):
        while True:
            try:
                for timer, _, _ in self.timers:
                    self.signal.setitimer(timer, 0)
                break
            except TimeUp:
                continue
        for number, handler in self.before:
            self.signal.signal(number, handler if handler is not None else self.signal.SIG_DFL)
        return exc[0] is TimeUp


def text_of(e):
    """str() of an exception, whatever its class does."""
    text = None
    with deadline(HINT_S, HINT_CPU_S):
        try:
            text = str(e)
        except Exception:
            text = None
    return text if type(text) is str else "<no text: str() of the exception failed>"


def hint_of(e, text):
    found = None
    with deadline(HINT_S, HINT_CPU_S):
        try:
            names = {"__name__": "garth_hints", "__builtins__": __builtins__}
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hints.py")
            with open(path, "rb") as f:
                exec(compile(f.read(), path, "exec", dont_inherit=True), names)
            found = names["find"](e)
        except Exception:
            found = None  # no hint is better than a second failure
    return found


def write_report(path, e, shown):
    text = text_of(e)
    fields = {
        "name": type(e).__name__[:NAME_MAX],
        "value": cut(text, VALUE_MAX),
        "traceback": cut(shown, TRACEBACK_MAX),
        "hint": hint_of(e, text),
    }
    out = encode(fields)
    for limit in (TRACEBACK_MAX // 2, TRACEBACK_MAX // 8, 500):
        if len(out) <= REPORT_MAX:
            break
        fields["traceback"] = cut(shown, limit)
        fields["value"] = cut(text, limit // 4)
        out = encode(fields)
    if len(out) > REPORT_MAX:
        return
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        data = out.encode("ascii")
        while data:
            data = data[os.write(fd, data):]
    finally:
        os.close(fd)


def show(e, tb):
    """Print the exception as the interpreter does, by the program's own hook if it has one; give back what it printed."""
    import io

    hook, err = sys.excepthook, sys.stderr
    tape = io.StringIO()
    try:
        sys.stderr = tape
        with deadline(SHOW_S, SHOW_S):
            sys.__excepthook__(type(e), e, tb)
    finally:
        sys.stderr = err
    shown = tape.getvalue()
    if hook is not sys.__excepthook__:
        hook(type(e), e, tb)
    elif err is not None:
        err.write(shown)
        err.flush()
    return shown


def fail(e, report, pid):
    """Tell what happened; never raises."""
    place = BaseException.__dict__["__traceback__"]  # past what its class may say to e.__traceback__
    tb = place.__get__(e)
    while tb is not None and tb.tb_frame.f_globals is globals():
        tb = tb.tb_next
    place.__set__(e, tb)
    shown = ""
    try:
        shown = show(e, tb)
    except BaseException:
        pass
    try:
        if os.getpid() == pid:  # a fork of the program that fails is not the program
            write_report(report, e, shown)
    except BaseException:
        pass


def streams():
    for f in (sys.stdout, sys.stderr):
        try:
            f.reconfigure(line_buffering=True)
        except Exception:
            pass  # closed


def main():
    report, path = sys.argv[1:3]
    pid = os.getpid()
    here = os.path.dirname(os.path.abspath(__file__))
    sys.argv = [path] + sys.argv[3:]
    if sys.path and sys.path[0] == here:
        sys.path[0] = ""
    streams()
    with open(path, "rb") as f:
        source = f.read()
    runner = sys.modules["__main__"]
    module = type(sys)("__main__")
    module.__dict__.update(
        __file__=path,
        __cached__=None,
        __package__=None,
        __spec__=None,
        __builtins__=__builtins__,
        __loader__=type(runner.__loader__)("__main__", path),
    )
    if "__annotations__" in globals():  # before 3.14
        module.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except SystemExit:
        raise
    except BaseException as e:
        fail(e, report, pid)
        sys.excepthook = lambda *_: None  # it is shown; the interpreter ends as it would have: 1, or by SIGINT
        raise


main()
