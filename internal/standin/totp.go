package standin

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238 as authenticator apps speak it
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
