// Package errcode defines the error codes. Each code is also the anchor of a section in docs/reference/errors.md, which
// gives the error's cause and its remedy.
package errcode

import (
	"slices"
	"strings"
)

// The codes that callers set themselves. [OfStatus] finds the others.
const (
	// NoKey means that a request lacks a part of its key. A route chooses the status.
	NoKey = "no_key"
	// Full means that the memory store has no room for a new key of a policy. It is the code of a denial.
	Full = "full"
	// NoUser means that the client has no valid secret.
	NoUser = "no_user"
	// InvalidFile means that a file has errors.
	InvalidFile = "invalid_file"
	// NoAnswer means that a command got no answer from its server.
	NoAnswer = "no_answer"
)

// Code is a code of the table.
type Code struct {
	Name string
	// Statuses are the HTTP statuses with this code.
	Statuses []int
	// Replies are the beginnings of RESP errors with this code, without the word ERR.
	Replies []string
}

// Codes lists the codes in the order of docs/reference/errors.md.
var Codes = []Code{
	{Name: "invalid", Statuses: []int{400, 408, 413, 415}},
	{Name: NoKey},
	{Name: Full},
	{Name: "unprocessable", Statuses: []int{422}, Replies: []string{"WRONGVERB"}},
	{Name: "not_found", Statuses: []int{404}, Replies: []string{`no policy "`}},
	{Name: "wrong_method", Statuses: []int{405}},
	{Name: "conflict", Statuses: []int{409}},
	{Name: "forbidden", Statuses: []int{403}, Replies: []string{"writes by clients are off", "this user may not"}},
	{Name: NoUser, Statuses: []int{401}, Replies: []string{"NOAUTH", "WRONGPASS"}},
	{Name: "unavailable", Statuses: []int{503}, Replies: []string{"UNAVAILABLE"}},
	{Name: "upstream", Statuses: []int{502, 504}},
	{Name: "setup", Statuses: []int{500}},
	{Name: InvalidFile},
	{Name: NoAnswer},
}

// OfStatus returns the code for an HTTP status. It is "" if the table does not have the status.
func OfStatus(status int) string {
	for i := range Codes {
		if slices.Contains(Codes[i].Statuses, status) {
			return Codes[i].Name
		}
	}
	return ""
}

// OfReply returns the code for the text of a RESP error. It is "invalid" for a text that is not in the table.
func OfReply(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
	for i := range Codes {
		if slices.ContainsFunc(Codes[i].Replies, func(start string) bool { return strings.HasPrefix(text, start) }) {
			return Codes[i].Name
		}
	}
	return OfStatus(400)
}

// Link returns the address of the section for a code.
func Link(code string) string {
	return "https://github.com/headgate/headgate/blob/main/docs/reference/errors.md#" + code
}
