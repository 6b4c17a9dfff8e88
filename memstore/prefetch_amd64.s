#include "textflag.h"

// func prefetchWrite(line unsafe.Pointer)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-8
	MOVQ line+0(FP), AX
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX), which the assembler does not know
	RET

// func prefetchSlot(mark, slot unsafe.Pointer)
TEXT ·prefetchSlot(SB), NOSPLIT, $0-16
	MOVQ mark+0(FP), AX
	PREFETCHT0 (AX)
	MOVQ slot+8(FP), AX
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX)
	RET
