# Reads tokens in hex, one a line, and answers what MIT's library says of each: "ok PRINCIPAL" with
# the principal in hex, or "no MAJOR MINOR".
import ctypes, sys

lib = ctypes.CDLL(sys.argv[1])

class Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]

u32 = ctypes.c_uint32
for name in ("gss_accept_sec_context", "gss_display_name", "gss_release_buffer", "gss_release_name", "gss_delete_sec_context"):
    getattr(lib, name).restype = u32

for line in sys.stdin:
    token = bytes.fromhex(line)
    memory = ctypes.create_string_buffer(token, len(token))
    given = Buffer(len(token), ctypes.cast(memory, ctypes.c_void_p))
    context, source, minor, flags = ctypes.c_void_p(), ctypes.c_void_p(), u32(), u32()
    reply = Buffer()
    major = lib.gss_accept_sec_context(ctypes.byref(minor), ctypes.byref(context), None, ctypes.byref(given), None, ctypes.byref(source),
                                       None, ctypes.byref(reply), ctypes.byref(flags), None, None)
    answer = "no %d %d" % (major, minor.value)
    if major == 0:
        text, ignored = Buffer(), u32()
        lib.gss_display_name(ctypes.byref(ignored), source, ctypes.byref(text), None)
        answer = "ok " + ctypes.string_at(text.value, text.length).hex()
        lib.gss_release_buffer(ctypes.byref(ignored), ctypes.byref(text))
    lib.gss_release_buffer(ctypes.byref(minor), ctypes.byref(reply))
    if source:
        lib.gss_release_name(ctypes.byref(minor), ctypes.byref(source))
    if context:
        lib.gss_delete_sec_context(ctypes.byref(minor), ctypes.byref(context), None)
    print(answer, flush=True)
