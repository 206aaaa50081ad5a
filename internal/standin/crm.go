package standin

import (
	"encoding/base64"
	"encoding/hex"

	"github.com/chumbo-dev/chumbo/examples/crm"
)

// CRM is the example app's database, seeded: customers of two organizations,
// Acme and Globex, under Row Level Security by membership: organizations,
// memberships, customers (60 each), notes, a public table of announcements,
// and functions: greet (anon may call it), customer_summary (stable),
// archive_customer (volatile). Its private bucket documents gives everybody one
// folder, named by their id, with welcome.txt and logo.png. Use it as
// Options.Schema with CRMUsers as Options.Users.
var CRM = crm.Schema + crm.Seed + documents

// The people of CRM.
const (
	AliceID    = "a11ce000-0000-4000-8000-000000000001"
	BobID      = "b0b00000-0000-4000-8000-000000000002"
	AliceEmail = "alice@example.test"
	BobEmail   = "bob@example.test"
	// CRMPassword is the password of both, for use on this machine only.
	CRMPassword = "correct horse battery"
)

// CRMUsers are the people of CRM: Alice is a member of Acme, Bob of Globex.
func CRMUsers() []User {
	return []User{
		{ID: AliceID, Email: AliceEmail, Password: CRMPassword},
		{ID: BobID, Email: BobEmail, Password: CRMPassword},
	}
}

// What is in the files of CRM.
const (
	AliceWelcome = "Welcome to Acme, Alice.\n"
	BobWelcome   = "Welcome to Globex, Bob.\n"
)

// The logos of CRM, images of 8 by 8 pixels in one colour each.
var (
	AliceLogo = fromBase64("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mOQzY/BihiGlgQAmlI6AYazCmgAAAAASUVORK5CYII=")
	BobLogo   = fromBase64("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mOYrWuAFTEMLQkAVPA+AY2rk40AAAAASUVORK5CYII=")
)

var documents = seedFile(AliceID, "welcome.txt", "text/plain", []byte(AliceWelcome)) + seedFile(AliceID, "logo.png", "image/png", AliceLogo) +
	seedFile(BobID, "welcome.txt", "text/plain", []byte(BobWelcome)) + seedFile(BobID, "logo.png", "image/png", BobLogo)

func seedFile(owner, name, mime string, content []byte) string {
	return "select standin.put_file('documents', '" + owner + "/" + name + "', '" + owner + "', '" + mime + "', decode('" +
		hex.EncodeToString(content) + "', 'hex'), '2026-01-01 08:00:00+00');\n"
}

func fromBase64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic("standin: " + err.Error()) // the text is above
	}
	return b
}
