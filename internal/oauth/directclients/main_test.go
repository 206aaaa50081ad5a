package directclients

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }
