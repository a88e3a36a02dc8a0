// Everything the participants' app says in English. Made of
// locale/participants.pot by `make catalogues`; change it there.

import { formatsOf } from "./formats.js";

const { plural } = formatsOf("en-GB");
export const ENGLISH_PARTIES = {
  title: "Two parties add up your answers",
  cut: "This device cuts every answer into two halves and seals each for one party. Each half alone is pure chance and says nothing about you.",
  first: "First party",
  site: "this website and the people who ask",
  asks: "the people who ask, at",
  second: "Second party",
  trust: "If both put their halves together, they can read your answers. You have to trust that one of them is honest.",
  compare: "Compare the second party's fingerprint",
  compareWhy: "These digits stand for the second party's key. They show that your halves are sealed for it and for nobody else.",
  compareHow: (operator) => `Open the second party's address above, or ask ${operator}. The same 32 digits must stand there. If one differs, do not answer.`,
  checked: "When you press Start, this device asks the second party itself whether it agreed to exactly this survey. If anything differs, nothing is sent.",
  ownPage: (operator) => `This page comes from ${operator}, the second party, and not from the website of the people who ask. They cannot change it.`,
  ownKey: "The second party names these digits in its own page. This device compared them with those of the survey: they are the same.",
  belief: (percent) => `Whatever somebody suspects about all your answers together: who thought it 50:50 can be at most ${percent} % sure after seeing the result and everything that one of the two parties sees.`,
  own: "This device worked these amounts out itself, from the noise that each party adds.",
  leavesHalves: (count) => plural(count, { one: `Your answer, in two sealed halves`, other: `${count} answers, together in two sealed halves` }),
  leavesResult: (minimum) => `The parties show only sums of ${minimum} people or more, with noise`,
  notSeen: "Nobody sees",
  notSeenList: [
    "Any single answer of yours, as long as one party is honest",
    "Your answers on the way: both halves are sealed",
  ],
  left: "What is left to trust",
  leftList: [
    "This page comes from the first party. A dishonest one could send you another page that shows all the right words and leaks your answers.",
    "You can open this survey at the second party's address instead, by the link below. The first party cannot change that page. Ask the second party for its address: a dishonest page could name another one.",
    "Each party can leak your answers by a page of its own. You always trust whoever sent you the page.",
    "If you do not want to trust any page, answer with the program masquerade answer on your own computer. It makes the same checks and takes no page from anybody.",
    "The second party sees the network address of this device when it is asked, and no answer.",
  ],
  openThere: "Open it at the second party",
  leftThere: [
    "This page comes from the second party. A dishonest one could send you another page that leaks your answers. You always trust whoever sent you the page.",
    "If you do not want to trust any page, answer with the program masquerade answer on your own computer. It makes the same checks and takes no page from anybody.",
    "The second party sees the network address of this device, and no answer. The first party sees that you came by this page.",
    "Here you have an account of its own, which does not know what you answered elsewhere. Your nine words, under Settings, make it the same.",
  ],
  away: "The second party could not be asked whether it agreed to this survey. Nothing was sent and nothing new was charged. Try again later.",
  halves: "What is sent",
  halfSite: "One half, sealed for this website",
  halfHelper: (operator) => `The other half, sealed for ${operator}`,
  length: (bytes) => `Together ${bytes} bytes. The length is the same whatever anybody answers.`,
  seal: {
    title: "Cut your answers in two",
    once: "This device now cuts your answers into two halves and seals each for one party.",
    before: "Then you see what would be sent. Until then, nothing of them has left this device.",
    after: "The halves are sent at once.",
    do: "Cut and seal",
    doSend: "Cut, seal and send",
    doing: "Sealing…",
  },
  waiting: {
    title: "Sealed, and waiting",
    text: "Your sealed halves are kept on this device. They go on as soon as the server can be reached; leave this page open, or come back later. They count once, however often it tries.",
  },
  reveal: {
    title: "Your answers, in two sealed halves",
    dontSure: "Your answers are deleted from this device, and the survey cannot be answered again. The privacy stays charged, because the questions were shown.",
  },
  done: {
    sent: "Your two sealed halves have arrived. Your answers are deleted from this device.",
    withdrawText: "As long as the survey is open, your halves can be deleted before anybody adds them up. The privacy stays charged, because the questions were shown.",
  },
  broken: {
    key: "The second party's key has another fingerprint than this survey names. Nothing was sent. Ask the second party which is right, and do not answer before.",
    signature: "The second party did not sign this survey. Nothing was sent. Tell the second party and whoever invited you.",
    terms: "The terms of this survey are not those that the second party signed. Nothing was sent. Tell the second party and whoever invited you.",
    survey: "The second party agreed to another survey than this one: its questions were changed. Nothing was sent. Tell the second party and whoever invited you.",
    helper: "The second party, asked itself, says something else than this website. Nothing was sent. Tell the second party and whoever invited you.",
    host: "This page comes from another second party than the survey names, or nothing is split there. Nothing was sent. Tell the second party and whoever invited you.",
    late: "The second party no longer takes answers to this survey. Nothing was sent. Ask whoever invited you for a new one.",
    sums: "The two parties would add up something else than this survey says, or with other noise. Nothing was sent. Tell the second party and whoever invited you.",
  },
};
