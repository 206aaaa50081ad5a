package tenants

// HoldLogoTurns takes every turn of decoding until release.
func HoldLogoTurns() (release func()) {
	for range cap(logoTurns) {
		logoTurns <- struct{}{}
	}
	return func() {
		for range cap(logoTurns) {
			<-logoTurns
		}
	}
}
