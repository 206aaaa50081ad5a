//go:build unix && !linux

package localpg

import "syscall"

// tie does nothing here: this system cannot end a child with its parent. The
// next start removes what was left.
func tie(*syscall.SysProcAttr) {}
