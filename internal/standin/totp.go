package standin

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// totpStep is how long a code is shown.
const totpStep = 30 * time.Second

// TOTPCode is the six digits that an authenticator app shows at a time, RFC
// 6238 with SHA1 and steps of 30 s. The secret is base32, as enrolment gives
// it; of one that is not, the code is empty.
func TOTPCode(secret string, at time.Time) string {
	return totpCodeOfStep(secret, at.Unix()/int64(totpStep.Seconds()))
}

func totpCodeOfStep(secret string, step int64) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(secret))
	if err != nil || step < 0 {
		return ""
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0x0f
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// totpMatches allows a clock that is one step off either way.
func totpMatches(secret, code string, now time.Time) bool {
	step := now.Unix() / int64(totpStep.Seconds())
	for _, near := range []int64{step - 1, step, step + 1} {
		want := totpCodeOfStep(secret, near)
		if want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return true
		}
	}
	return false
}

// newTOTPSecret is 20 random bytes in base32, as authenticator apps take it.
func newTOTPSecret() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(randomBytes(20))
}

// qrPicture is SVG text of the form and size that Auth answers enrolment with,
// about 320 KB. It is no QR code: pages draw their own from the URI.
func qrPicture(uri string) string {
	const side = 57
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<svg width=\"%d\" height=\"%d\" xmlns=\"http://www.w3.org/2000/svg\">\n", 3*side, 3*side)
	bits := sha256.Sum256([]byte(uri))
	for i := range side * side {
		shade := "white"
		if bits[i%len(bits)]>>(i/len(bits)%8)&1 == 1 {
			shade = "black"
		}
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"3\" height=\"3\" style=\"fill:%s;stroke:none;shape-rendering:crispEdges\" />\n",
			3*(i%side), 3*(i/side), shade)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
