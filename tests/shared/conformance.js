// Answer the questions of conformance files: node conformance.js READER DIRECTORY NAME... ; each answer is a line of JSON.
"use strict";

const fs = require("fs");
const [reader, directory, ...names] = process.argv.slice(2);
const Sapo = require(reader);

for (const name of names) {
  const bytes = fs.readFileSync(`${directory}/${name}.sapo`);
  const asked = JSON.parse(fs.readFileSync(`${directory}/${name}.json`, "utf8"));
  const tagger = Sapo.load(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const sentences = asked.sentences.map(({ tokens }) => ({
    tokens,
    tags: tagger.tag(tokens),
    nbest: tagger.nbest(tokens, 3).map(({ tags, probability, p_k }) => ({ tags, probability, p_k })),
    marginals: tagger.marginals(tokens).map((row) => tagger.labels.map((label) => row[label])),
    spans: tagger.spans(tokens),
  }));
  const texts = asked.texts.map(({ text }) => {
    const found = tagger.tagText(text, { probabilities: true }).sentences;
    return {
      text,
      sentences: found.map(({ tokens }) => tokens.map(({ text, tag, probability }) => [text, tag, probability])),
      spans: found.map(({ spans }) => spans.map(({ text, type, probability }) => [text, type, probability])),
    };
  });
  console.log(JSON.stringify({ labels: tagger.labels, sentences, texts }));
}
