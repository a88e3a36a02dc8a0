/** A source of words that a test chooses; it counts how many were taken. */
export class FixedWords {
  constructor(words) {
    this.words = words.map(BigInt);
    this.used = 0;
  }

  nextWord() {
    if (this.used === this.words.length) throw new Error("no word is left");
    return this.words[this.used++];
  }
}
