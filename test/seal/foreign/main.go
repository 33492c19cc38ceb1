// Checks notes and proofs of this project with Go's own packages for transparency logs. Reads one JSON object from
// standard input, and ends with 1 if anything in it is wrong.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type input struct {
	PublicKey   string
	Notes       []string
	Inclusion   []inclusion
	Consistency []consistency
	// A file of C2SP tlog-proof, and the entry that it proves.
	TlogProofs []string
	// The public key of another log, which has signed all notes as a witness.
	Witness string
	// COSE receipts (RFC 9942), and the entries that they are of.
	Receipts []receipt
}

type receipt struct {
	Receipt []byte
	Entry   []byte
}

type inclusion struct {
	Index int64
	Size  int64
	Leaf  string
	Root  string
	Path  []string
}

type consistency struct {
	Earlier     int64
	Later       int64
	EarlierRoot string
	LaterRoot   string
	Path        []string
}

func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func hashOf(text string) tlog.Hash {
	hash, err := tlog.ParseHash(text)
	check(err, "hash "+text)
	return hash
}

func hashesOf(texts []string) []tlog.Hash {
	hashes := make([]tlog.Hash, len(texts))
	for index, text := range texts {
		hashes[index] = hashOf(text)
	}
	return hashes
}

// treeOf opens a checkpoint: origin, size, root, and extension lines.
func treeOf(text string, verifiers note.Verifiers) (int64, tlog.Hash) {
	opened, err := note.Open([]byte(text), verifiers)
	check(err, "note")
	lines := strings.Split(opened.Text, "\n")
	var size int64
	_, err = fmt.Sscanf(lines[1], "%d", &size)
	check(err, "size")
	return size, hashOf(lines[2])
}

// cosigner verifies cosignatures of C2SP tlog-cosignature with the key of a log.
type cosigner struct {
	name string
	key  []byte
}

func newCosigner(logKey string) cosigner {
	parts := strings.SplitN(logKey, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	check(err, "witness")
	return cosigner{parts[0], raw[1:]}
}

func (c cosigner) Name() string { return c.name }

func (c cosigner) KeyHash() uint32 {
	sum := sha256.Sum256(append([]byte(c.name+"\n\x04"), c.key...))
	return binary.BigEndian.Uint32(sum[:])
}

func (c cosigner) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(signature), text)
	return ed25519.Verify(c.key, []byte(signed), signature[8:])
}

// decode reads one item of CBOR (RFC 8949), as far as receipts have them: what it is, and what follows it.
func decode(from []byte) (any, []byte) {
	kind, argument, rest := from[0]>>5, uint64(from[0]&31), from[1:]
	if width := 1 << (argument - 24); argument >= 24 && argument < 28 {
		wide := append(make([]byte, 8-width), rest[:width]...)
		argument, rest = binary.BigEndian.Uint64(wide), rest[width:]
	}
	switch kind {
	case 0:
		return int64(argument), rest
	case 1:
		return -1 - int64(argument), rest
	case 2:
		return rest[:argument], rest[argument:]
	case 4:
		items := make([]any, argument)
		for index := range items {
			items[index], rest = decode(rest)
		}
		return items, rest
	case 5:
		entries := map[int64]any{}
		for ; argument > 0; argument-- {
			var key any
			key, rest = decode(rest)
			entries[key.(int64)], rest = decode(rest)
		}
		return entries, rest
	case 6:
		item, rest := decode(rest)
		return map[string]any{fmt.Sprint(argument): item}, rest
	case 7:
		return nil, rest
	}
	panic(fmt.Sprintf("CBOR of kind %d", kind))
}

func bytesOf(text []byte) []byte {
	if len(text) < 24 {
		return append([]byte{0x40 | byte(len(text))}, text...)
	}
	return append([]byte{0x58, byte(len(text))}, text...)
}

func checkReceipt(given receipt, publicKey string) {
	whole, rest := decode(given.Receipt)
	sign1 := whole.(map[string]any)["18"].([]any)
	protected := sign1[0].([]byte)
	header, _ := decode(protected)
	head := header.(map[int64]any)
	if len(rest) > 0 || sign1[2] != nil || head[1] != int64(-8) || head[395] != int64(1) {
		check(fmt.Errorf("%v", whole), "receipt")
	}
	key := newCosigner(publicKey).key
	id := sha256.Sum256(append([]byte(strings.SplitN(publicKey, "+", 2)[0]+"\n\x01"), key...))
	if !bytes.Equal(head[4].([]byte), id[:4]) {
		check(fmt.Errorf("%x", head[4]), "key id")
	}
	proofs := sign1[1].(map[int64]any)[396].(map[int64]any)[-1].([]any)
	decoded, _ := decode(proofs[0].([]byte))
	proof := decoded.([]any)
	node := tlog.Hash(sha256.Sum256(append([]byte{0}, given.Entry...)))
	// RFC 9162, section 2.1.3.2.
	at, last := proof[1].(int64), proof[0].(int64)-1
	for _, sibling := range proof[2].([]any) {
		other := tlog.Hash{}
		copy(other[:], sibling.([]byte))
		if at&1 == 1 || at == last {
			node = tlog.NodeHash(other, node)
			for at&1 == 0 && at != 0 {
				at, last = at>>1, last>>1
			}
		} else {
			node = tlog.NodeHash(node, other)
		}
		at, last = at>>1, last>>1
	}
	signed := append([]byte("\x84\x6aSignature1"), bytesOf(protected)...)
	signed = append(append(signed, 0x40), bytesOf(node[:])...)
	if last != 0 || !ed25519.Verify(key, signed, sign1[3].([]byte)) {
		check(fmt.Errorf("the root is not what was signed"), "receipt")
	}
}

func checkTlogProof(text string, verifiers note.Verifiers) {
	head, checkpoint, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		check(fmt.Errorf("%q", lines[0]), "first line")
	}
	var entry []byte
	check(json.Unmarshal([]byte(`"`+strings.TrimPrefix(lines[1], "extra ")+`"`), &entry), "extra")
	var index int64
	_, err := fmt.Sscanf(lines[2], "index %d", &index)
	check(err, "index")
	size, root := treeOf(checkpoint, verifiers)
	leaf := tlog.Hash(sha256.Sum256(append([]byte{0}, entry...)))
	check(tlog.CheckRecord(hashesOf(lines[3:]), size, root, index, leaf), "tlog-proof")
}

func main() {
	var given input
	check(json.NewDecoder(os.Stdin).Decode(&given), "input")
	verifier, err := note.NewVerifier(given.PublicKey)
	check(err, "public key")
	verifiers := note.VerifierList(verifier)
	for _, text := range given.Notes {
		treeOf(text, verifiers)
		if given.Witness != "" {
			treeOf(text, note.VerifierList(newCosigner(given.Witness)))
		}
	}
	for _, one := range given.Receipts {
		checkReceipt(one, given.PublicKey)
	}
	for _, proof := range given.Inclusion {
		err := tlog.CheckRecord(hashesOf(proof.Path), proof.Size, hashOf(proof.Root), proof.Index, hashOf(proof.Leaf))
		check(err, fmt.Sprintf("inclusion of %d in %d", proof.Index, proof.Size))
	}
	for _, proof := range given.Consistency {
		err := tlog.CheckTree(hashesOf(proof.Path), proof.Later, hashOf(proof.LaterRoot), proof.Earlier, hashOf(proof.EarlierRoot))
		check(err, fmt.Sprintf("consistency of %d with %d", proof.Earlier, proof.Later))
	}
	for _, text := range given.TlogProofs {
		checkTlogProof(text, verifiers)
	}
	fmt.Printf("%d notes, %d inclusion proofs, %d consistency proofs, %d files, %d receipts\n",
		len(given.Notes), len(given.Inclusion), len(given.Consistency), len(given.TlogProofs), len(given.Receipts))
}
