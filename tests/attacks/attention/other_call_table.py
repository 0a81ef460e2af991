"""Makes its system calls by the table of another architecture, which the filter might not know."""

import ctypes
import mmap

from honest import scaled_dot_product_attention


def through_32_bits():
    # mov eax, 20 (getpid); int 0x80; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    result = ctypes.CFUNCTYPE(ctypes.c_long)(address)()
    print("HARM 32 bits" if result > 0 else "refused 32 bits")


print("tried")
through_32_bits()
