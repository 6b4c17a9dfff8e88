package adminapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

var (
	ExplainKey = Call[KeyAndCost, Explanations]{Pattern: "POST /admin/v1/keys/explain"}
	GiveUnits  = Call[Units, Given]{Pattern: "POST /admin/v1/keys/give", Acts: true}
	ResetKey   = Call[Units, Reset]{Pattern: "POST /admin/v1/keys/reset", Acts: true}
)

// KeyFields contains a key, as text or, if the key is not valid UTF-8 or contains *, as base64. The text base64:… stands
// for the same key: see [policy.KeyText].
type KeyFields struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 string `json:"key_base64,omitempty"`
}

// NewKey returns the fields of a key.
func NewKey(key string) KeyFields {
	if policy.KeyText(key) == key {
		return KeyFields{Key: key}
	}
	return KeyFields{KeyBase64: base64.StdEncoding.EncodeToString([]byte(key))}
}

// NewOverrideKey returns the fields of the key or pattern that an override names.
func NewOverrideKey(text string) KeyFields {
	if policy.IsPattern(text) {
		return KeyFields{Key: text}
	}
	return NewKey(policy.OverrideKey(text))
}

// WholeKeyBytes is the length, in bytes, of the longest keys that tables show in full.
const WholeKeyBytes = 40

// KeyHash returns the first 8 hex digits of the SHA-256 of a key that tables abbreviate. It returns "" for a key of at
// most [WholeKeyBytes] bytes.
func KeyHash(key string) string {
	if len(key) <= WholeKeyBytes {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:4])
}

// Read returns the key. It returns an [*Error] if the base64 is invalid, if both fields are set, or if the key does not
// have 1 to 1024 bytes.
func (k *KeyFields) Read() (string, error) {
	key := policy.OverrideKey(k.Key)
	if k.KeyBase64 != "" {
		if key != "" {
			return "", BadField("key_base64", "beside key; accepted: one of them")
		}
		data, err := base64.StdEncoding.DecodeString(k.KeyBase64)
		if err != nil {
			return "", BadField("key_base64", "not base64")
		}
		key = string(data)
	}
	if key == "" || len(key) > engine.MaxKeyBytes {
		return "", BadField("key", strconv.Itoa(len(key))+" bytes; accepted: 1 to 1024")
	}
	return key, nil
}

// KeyAndPolicy selects a key under one policy or, if Policy is "", under every policy.
type KeyAndPolicy struct {
	KeyFields

	Policy string `json:"policy,omitempty"`
}

// KeyAndCost is a KeyAndPolicy with the cost and the class of a request. If Cost is nil, the policy's cost applies.
type KeyAndCost struct {
	KeyAndPolicy

	Cost  *int64 `json:"cost,omitempty"`
	Class string `json:"class,omitempty"`
}

// Read returns the key. It returns an [*Error] if the key is invalid or the cost is negative.
func (k *KeyAndCost) Read() (string, error) {
	if k.Cost != nil && *k.Cost < 0 {
		return "", BadField("cost", "negative; accepted: 0 or more")
	}
	return k.KeyFields.Read()
}

// Units is an operator's request to give units to a key or to reset the key. Units is only for a give. If it is
// nil, the give returns the policy's cost.
type Units struct {
	KeyAndPolicy

	Units  *int64 `json:"units,omitempty"`
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
}

// Given is the answer to a give. Remaining is the number of units that the key then has. Unlimited is true if no limit
// applies to the key.
type Given struct {
	Remaining int64 `json:"remaining"`
	Unlimited bool  `json:"unlimited"`
}

// Reset is the answer to a reset. Found is true if the store had state for the key. AllKeys is true if the policy has
// a limit that divides its units among keys. All keys share that limit's counter, so it was reset for all of them.
type Reset struct {
	Found   bool `json:"found"`
	AllKeys bool `json:"all_keys,omitempty"`
}
