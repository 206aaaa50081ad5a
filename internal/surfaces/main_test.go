package surfaces

import (
	"flag"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { localpg.TestMain(m) }
