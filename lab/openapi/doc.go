// Package openapi checks the descriptions of the HTTP APIs with a third-party validator.
package openapi
