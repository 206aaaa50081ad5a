package localpg_test

import (
	"os"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

func TestMain(m *testing.M) {
	if os.Getenv("CHUMBO_TEST_LOCALPG_CHILD") != "" {
		localpg.ChildServer()
		return
	}
	os.Exit(localpg.Run(m))
}
