package standin

import "github.com/chumbo-dev/chumbo/examples/crm"

// CRM is the example app's database, seeded: customers of two organizations,
// Acme and Globex, under Row Level Security by membership: organizations,
// memberships, customers (60 each), notes, a public table of announcements,
// and functions: greet (anon may call it), customer_summary (stable),
// archive_customer (volatile). Use it as Options.Schema with CRMUsers as
// Options.Users.
var CRM = crm.Schema + crm.Seed

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
