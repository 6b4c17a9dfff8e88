package jsontext_test

import (
	"errors"
	"testing"

	"github.com/headgate/headgate/policy/jsontext"
)

type innerFields struct {
	Name string `json:"name"`
}

type outer struct {
	innerFields

	N    int64         `json:"n"`
	List []innerFields `json:"list"`
}

var bounds = jsontext.Bounds{Depth: 4, Elements: []int{9}, Names: 9, Text: 99, Name: 99, Number: 99}

// TestDecodeIsStrict checks that everything that encoding/json would misread or drop is an error, and that the error
// names the field if there is one.
func TestDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]jsontext.Error{
		`{"n":1,"list":[{"name":"a"}],"name":"b"} `: {},
		`{"N":1}`:                   {},
		`{"n":"x"}`:                 {Field: "n", Detail: "n must not be a JSON string; accepted: whole number"},
		`{"n":9223372036854775808}`: {Field: "n", Detail: "n must not be a JSON number 9223372036854775808; accepted: whole number up to 9223372036854775807"},
		`{"name":5}`:                {Field: "name", Detail: "name must not be a JSON number; accepted: string"},
		`{"list":[{"name":5}]}`:     {Field: "list.name", Detail: "list.name must not be a JSON number; accepted: string"},
		`[]`:                        {Detail: "body must not be a JSON array; accepted: object"},
		`{"x":1}`:                   {Field: "x", Detail: `unknown field "x"`, Unknown: true},
		`{"n":1,"n":2}`:             {Field: "n", Detail: "n occurs twice in one object; accepted: each name once"},
		`{"n":1,"N":2}`:             {Field: "N", Detail: "N occurs twice in one object; accepted: each name once"},
		`{"list":[{"name":"a","n\u0061me":"b"}]}`: {Field: "name", Detail: "name occurs twice in one object; accepted: each name once"},
		`{} {}`:               {Detail: "body must be one JSON object with nothing after it"},
		`{}}`:                 {Detail: "body must be one JSON object with nothing after it"},
		``:                    {Detail: "body is not JSON: it ends too early"},
		`{"n":`:               {Detail: "body is not JSON: it ends too early"},
		`{n:1}`:               {Detail: "body is not JSON: invalid character 'n' looking for beginning of object key string at byte 2"},
		"{\"name\":\"\xff\"}": {Detail: "body: byte 0xff at 9; accepted: UTF-8"},
	} {
		var got jsontext.Error
		err := jsontext.NewScanner(&bounds).Write([]byte(text))
		if err == nil {
			err = jsontext.Decode("body", []byte(text), new(outer))
		}
		if err != nil {
			bad, ok := errors.AsType[*jsontext.Error](err)
			if !ok {
				t.Fatal(err)
			}
			got = *bad
		}
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
}
