// Checks notes and proofs of this project with Go's own packages for transparency logs. Reads one JSON object from
// standard input, and ends with 1 if anything in it is wrong.
package main

import (
	"crypto/sha256"
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
	fmt.Printf("%d notes, %d inclusion proofs, %d consistency proofs, %d files\n",
		len(given.Notes), len(given.Inclusion), len(given.Consistency), len(given.TlogProofs))
}
