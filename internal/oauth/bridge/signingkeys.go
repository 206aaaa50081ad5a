package bridge

import "context"

// RotateKeys makes, publishes, switches and withdraws signing keys as their
// times come. Any server or worker may call it, at any time, several at once.
func (s *Service) RotateKeys(ctx context.Context) error { panic("not built") }
