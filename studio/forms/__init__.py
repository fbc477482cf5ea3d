"""What the studio's pages take in: names, ranges, help texts and the words for what is wrong with an input."""
