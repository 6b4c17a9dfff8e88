// Package openapi checks the descriptions of the HTTP APIs by a validator that others wrote.
package openapi
