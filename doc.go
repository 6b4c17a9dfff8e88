// Package headgate decides, for any key, whether a request may go in now.
package headgate
