package supabase

import "context"

// Insert writes one row as the session. The body is the row as an object, or
// nil when no columns were asked for. Errors as Select; after a *fault.Error
// the row may be there all the same.
func (c *Client) Insert(ctx context.Context, s Session, q Insert) (Answer, error) {
	panic("not built")
}

// Update changes the rows that match as the session. With Max 1 the body is the
// row as an object, else an array; nil when no columns were asked for. A change
// without a condition, or without a bound, is refused before anything is sent.
// No row, or more than Max, is an *Error (PGRST116, PGRST124) and changes
// nothing. Errors as Select; after a *fault.Error the rows may be changed all
// the same.
func (c *Client) Update(ctx context.Context, s Session, q Change) (Answer, error) {
	panic("not built")
}

// Delete removes the rows that match as the session; as Update, with the rows
// as they were.
func (c *Client) Delete(ctx context.Context, s Session, q Change) (Answer, error) {
	panic("not built")
}
