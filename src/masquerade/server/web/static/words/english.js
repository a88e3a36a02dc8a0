// Everything the participants' app says, in English. words/arabic.js says the same; both have the same
// names.

import { amountText, dayText, factorText, number } from "./formats.js";
import { PLAIN_ENGLISH } from "./plain_english.js";

const LOCALE = "en-GB";
const plural = (count, one, many) => `${number(count, LOCALE)} ${count === 1 ? one : many}`;
const questions = (count) => plural(count, "question", "questions");
const times = (epsilon) => {
  const factor = factorText(epsilon, LOCALE);
  return factor === null ? "more than a million times" : `at most ${factor} times`;
};

export const ENGLISH = {
  code: "en",
  name: "English",
  direction: "ltr",
  amount: (value) => amountText(value, LOCALE),
  number: (value, digits) => number(value, LOCALE, digits),
  day: (day) => dayText(day, LOCALE),
  frame: {
    home: "Surveys",
    ledger: "Privacy",
    settings: "Settings",
    pages: "Pages",
    further: "Good to know",
    skip: "Skip to the content",
    language: "Language",
    loading: "Opening…",
  },
  common: {
    back: "Back",
    next: "Next",
    retry: "Try again",
    cancel: "Cancel",
    home: "To all surveys",
    more: "Show more",
    offline: "The server cannot be reached. What you see is from your last visit.",
    unreachable: "The server could not be reached. Nothing is lost: it is all kept on this device.",
    failed: "That did not work. Try again in a moment.",
    tooMany: "The server is busy. Try again in a minute.",
  },
  welcome: {
    title: "Your answers wear a mask",
    stays: "Your true answers never leave this device.",
    masked: "What leaves is changed by chance, so nobody can be sure what you really said.",
    crowd: "In a crowd chance evens out, so what the crowd thinks still comes out right.",
    account: "No name, no e-mail, no password.",
    begin: "Begin",
    words: "I have recovery words",
    how: "How the mask works",
  },
  mask: {
    title: "See it work",
    you: "You say",
    sent: "We see",
    crowd: (count) => `The average of ${number(count, LOCALE)} made-up people`,
    truth: "What they think",
    seen: "Sent, masked",
    estimate: "Worked out again",
    again: "Mask again",
    said: (mine, sent, truth, estimate) =>
      `You say ${mine}, we see ${sent}. The crowd's true average is ${truth}; worked out from ` +
      `masked answers it is ${estimate}.`,
  },
  home: {
    title: "Surveys",
    empty: "No survey waits for you",
    emptyText: "Open the link or scan the code that somebody gave you. It then appears here too.",
    questions,
    minutes: (count) => `about ${plural(count, "minute", "minutes")}`,
    topics: { everyday: "Everyday", personal: "Personal", sensitive: "Sensitive" },
    states: {
      new: "New",
      begun: "Continue",
      waiting: "Not sent yet",
      answered: "Answered",
      over: "Over",
      closed: "Closed",
    },
    backUp: "Write down your recovery words",
    backUpText: "They are the only way back to your privacy account if this device is lost.",
    backUpDo: "Show the words",
  },
  battery: {
    label: "Privacy battery",
    left: (percent) => `${number(percent, LOCALE)} % of your lifetime privacy left`,
    spent: (epsilon, cap) => `ε ${epsilon} of ${cap} spent`,
  },
  levels: {
    legend: "How much should the mask hide?",
    names: {
      high: "High privacy",
      medium: "Medium privacy",
      low: "Low privacy",
      little: "Little privacy",
      none: "No mask: sent in clear",
    },
    fixed: "Everybody in this survey has the same level, so it gives nothing away.",
    scale: "Example: a scale from 1 to 5. The bars show what people who think 4 send.",
    example: (percent) => `${percent} of 100 people who think 4 send 4.`,
    seen: "What we could see",
    belief: (percent) =>
      `Somebody who thinks a guess about one of your answers as likely right as wrong can be at ` +
      `most ${percent} % sure of it after seeing the masked answer.`,
    clear: "Everybody who sees what you send knows your answer. It is counted apart.",
    price: (percent) => `Uses about ${percent} % of your lifetime privacy`,
    priceBeyond: "More than your lifetime cap allows, so it cannot be chosen",
    beyondRest: (percent) =>
      `Takes ${percent} % of your lifetime privacy, which is more than is left, so it cannot be chosen`,
    clearBeyond: "Your cap allows no more answers without a mask, so it cannot be chosen",
    details: "The exact promise",
    together: (epsilon, factor) =>
      `All answers together: seeing all that this survey sends from this device makes any guess ` +
      `about them ${times(factor)} as likely, in odds (ε ${epsilon}).`,
    single: (epsilon, factor) =>
      `One answer, all else known: ${times(factor)} as likely, in odds (ε ${epsilon}).`,
    noise: (percent) =>
      `A number is sent with noise: 4 times in 5 it lies within ±${percent} % of its range.`,
    own: "This device worked these amounts out from the masks themselves.",
    butFor: (count) => `These amounts hold but for a chance of 1 in ${count}.`,
    rho: (rho) => `What your account is charged: ρ ${rho}.`,
    confirmClear: "I understand that my answers are sent without a mask",
  },
  intro: {
    simulated: "Demonstration: some participants of this survey are made up",
    leaves: "Leaves this device",
    leavesList: (count) => [
      count === 1 ? "One masked answer" : `${count} masked answers, one for each question`,
      "Your level, and that you took part",
    ],
    stays: "Stays on this device",
    staysList: ["Your true answers", "Whether the mask changed them"],
    notHidden:
      "Not hidden: that you took part and when, and the network address that every website sees.",
    locked:
      "You choose the level before you see the questions, so that the choice says nothing about " +
      "your answers. It is charged when the questions are shown.",
    lockedFixed: "It is charged when the questions are shown.",
    start: "Start",
    starting: "Starting…",
    choose: "Please choose a level.",
    accept: "Please confirm that your answers are sent without a mask.",
    cap: "Your privacy cap does not allow this level. Choose one that hides more.",
    nothingFits:
      "What is left of your privacy cap allows none of these. You can leave this survey out; " +
      "nothing was charged. Your caps are under Settings.",
    ownCap:
      "Your privacy cap does not allow this level, as this device counts. Choose one that hides " +
      "more, or look at your caps under Privacy and Settings.",
    elsewhere:
      "You have begun this survey with another level, perhaps on another device. Finish it there.",
    full:
      "As many people as this survey takes at this level have begun it. Nothing was charged; " +
      "another level may still be open.",
    unopened:
      "Too many surveys were begun on this device today and not opened. Nothing was charged; " +
      "open one that waits, or begin this one tomorrow.",
  },
  // What is said instead where a person chose to send without a mask
  clear: {
    leaves: (count) => [
      count === 1 ? "Your answer, as you give it" : `${count} answers, as you give them`,
      "That you chose no mask, and that you took part",
    ],
    stays: ["Nothing of your answers, once they are sent"],
    sealTitle: "Without a mask",
    seal: "You chose no mask: your answers are sent exactly as you gave them.",
    before: "You see them once more first. Until then, nothing of them has left this device.",
    after: "They are sent at once.",
    do: "Show what is sent",
    doSend: "Send without a mask",
    waitingTitle: "Not sent yet",
    waiting:
      "Your answers are kept on this device. They go on, without a mask, as soon as the server can " +
      "be reached; leave this page open, or come back later.",
    revealTitle: "Your answers, without a mask",
    reveal: "This is sent as it is. Whoever sees it knows your answers.",
    dontSure: "They are deleted from this device, and the survey cannot be answered again.",
    done: "Your answers have arrived, without a mask. They are deleted from this device.",
  },
  resume: {
    title: "You have chosen a level",
    text: (level) =>
      `${level}. The questions were not shown yet, so nothing is charged. Do you want to go on?`,
    go: "Show the questions",
    giveBack: "Give it back",
  },
  question: {
    progress: (at, count) => `${number(at, LOCALE)} of ${number(count, LOCALE)}`,
    skip: "Prefer not to say",
    maskedToo: "Masked like every other answer",
    choose: "Please choose an answer.",
    number: (low, high, unit) => `A number from ${low} to ${high}${unit ? `, in ${unit}` : ""}`,
    step: (step) => `in steps of ${step}`,
    notNumber: (low, high, step) =>
      `Please give a number from ${low} to ${high}, in steps of ${step}.`,
    less: "Less",
    more: "More",
    slider: "Slider",
    saved: "Kept on this device only",
  },
  seal: {
    title: "Put on the mask",
    once: "We now mask your answers once. It cannot be repeated.",
    before: "Then you see what would be sent. Until then, nothing of them has left this device.",
    after: "They are sent at once, masked. Then you see what was sent.",
    last: "To change an answer, go back first.",
    do: "Mask my answers",
    doSend: "Mask and send",
    doing: "Masking…",
  },
  waiting: {
    title: "Masked, and waiting",
    text:
      "Your answers are masked and kept on this device. They go on as soon as the server can be " +
      "reached; leave this page open, or come back later. They count once, however often it tries.",
    working: "One moment…",
  },
  reveal: {
    title: "Your answers, masked",
    titleSent: "This was sent",
    odd: "Odd values are normal: the mask may change any answer, at random.",
    keeps: (low, high) =>
      low === high
        ? `An answer stays as it is about ${low} times in 100.`
        : `An answer stays as it is between ${low} and ${high} times in 100, depending on the ` +
          "question.",
    mine: "Yours (stays here)",
    notAsked: "Not asked, after your answers",
    sent: "Sent",
    toSend: "What will be sent",
    please:
      "Please send it whatever you see. Sending only what you like would tell something about you.",
    send: "Send",
    sending: "Sending…",
    dont: "Don't send",
    dontSure:
      "Your privacy is already used, because you saw this draw. Nothing comes back if you don't " +
      "send it, and the survey cannot be answered again.",
    dontDo: "Don't send, delete it",
    keep: "Keep it",
    done: "Done: delete my answers from this device",
  },
  done: {
    title: "Thank you",
    sent: "Your masked answers have arrived. Your true answers are deleted from this device.",
    again: "You have already answered",
    once: "Each person answers a survey once. Your true answers are no longer on this device.",
    bill: "Your privacy bill",
    here: "This survey",
    total: "All surveys on this site",
    left: "Privacy left",
    percent: (percent) => `${number(percent, LOCALE)} %`,
    epsilon: (epsilon) => `ε ${epsilon}`,
    day: (day) => `Sent on ${day}`,
    next: "To all surveys",
    withdraw: "Take it back",
    withdrawText:
      "As long as the survey is open, what you sent can leave its results. The privacy it used does " +
      "not come back, because it has been seen.",
    withdrawDo: "Take my answers out",
    late: "The survey is closed: its results are worked out and answers stay in them.",
  },
  reward: {
    title: "What you get",
    amount: (amount, currency) => `${amount} ${currency}`,
    at: (money, level) => `${level}: ${money}`,
    whatever: "Paid once your masked answers have arrived, whatever they are.",
    code: "A completion code, once your masked answers have arrived. Show it to the panel that sent you.",
    yours: "For you",
    codeHint: "Copy this code to the panel that sent you. It leads nobody to your answers.",
    paidHint: "It is in your wallet, on the page Privacy. Nothing there leads to your answers.",
    wallet: "Your wallet",
    walletText:
      "What you earned, for each team that asked. Where you want it paid to tells the team who you " +
      "are, but not which answers are yours.",
    owed: (money, team) => `${money} from ${team}`,
    payTo: "Pay it to",
    payToHint: "For example an account number or an e-mail address. It is deleted once you are paid.",
    payToMissing: "Please say where it is to be paid.",
    ask: "Ask for it",
    payouts: "Asked for",
    states: { asked: "waiting", paid: "paid", refused: "could not be paid", "taken-back": "taken back" },
    takeBack: "Put it back",
    done: "Done.",
  },
  ended: {
    withdrawn: ["Taken back", "What you sent is no longer part of this survey's results."],
    abandoned: [
      "Not sent",
      "Your answers and their masks are deleted. The privacy stays charged, because the questions " +
        "were shown.",
    ],
    expired: ["Not begun", "You gave it back, or waited too long. Nothing was charged."],
    elsewhere: [
      "Answered on another device",
      "This survey is answered once by each person. What was written here is deleted and was not " +
        "sent.",
    ],
    here: [
      "Already answered on this device",
      "A survey is masked once on each device. A second mask would tell more than the first, so " +
        "none is drawn, whatever the server says.",
    ],
    closed: [
      "This survey is closed",
      "Your answers are deleted from this device and were not sent.",
    ],
    other: ["This survey is over", "It does not take answers from you any more."],
    again: "Look at it again",
  },
  closed: {
    title: "This survey is closed",
    text: "Thank you for coming. It no longer takes answers, and nothing was sent from this device.",
    late: "It closed before your masked answers could be sent.",
    remove: "Delete my answers from this device",
  },
  missing: {
    title: "There is no survey here",
    text: "Please check the link. A letter may be missing at its end.",
  },
  cannot: {
    title: "This cannot start here",
    storage:
      "Your browser does not let this page remember anything. Without memory it cannot promise " +
      "that your answers are masked only once, so it does not ask. Allow storage for this site, " +
      "or leave private browsing, and reload.",
    randomness:
      "Your browser gives this page no safe random numbers, so it cannot mask your answers. " +
      "A newer browser will.",
    mask:
      "This survey is not what was promised: its masks, its questions and what is said of them do " +
      "not fit together. This page does not go on. Please tell whoever invited you.",
    write:
      "This device could not keep your masked answers; its storage may be full. Nothing was " +
      "sent. Make room and try again.",
    server: "The server did not answer as agreed. Nothing was sent. Try again later.",
    gone: "The server does not know this participation any more. Nothing more can be sent.",
  },
  ledger: {
    title: "Your privacy",
    statement: (epsilon, delta, clear) =>
      "For the answers you protected, what anyone else can learn about them from everything this " +
      `app has ever sent is limited by ε = ${epsilon}, δ = ${delta}. It does not cover answers ` +
      `you sent in clear (${clear}), nor the fact that you took part.`,
    kept:
      "Kept by your device and by the server. Each counts by itself, and the lower cap holds. What " +
      "you see here is counted by this device; your browser keeps one such list for each site.",
    timeline: "Counted by this device",
    theirs: "Counted by the server",
    theirsSays: (epsilon, count) =>
      `The server says ε ${epsilon} for ${plural(count, "survey", "surveys")}. It may add up more ` +
      "finely than this device, which never counts less than the truth.",
    theirsList: "Its list, in its own numbers",
    theirsSilent: "The server gave no readable account.",
    agree: "Both lists name the same surveys.",
    theirsMore: (count) =>
      `${plural(count, "survey", "surveys")} of the server's list ${count === 1 ? "was" : "were"} ` +
      "not counted here: answered on another device, or before this one kept a list.",
    theirsFewer: (count) =>
      `${plural(count, "survey", "surveys")} that this device counted ${count === 1 ? "is" : "are"} ` +
      "missing from the server's list. This device goes by its own.",
    empty: "Nothing has been charged yet.",
    kinds: {
      reserve: "Reserved",
      commit: "Charged",
      release: "Given back",
      adjust: "Corrected",
      clear_disclosure: "Sent in clear",
    },
    share: (percent) => `about ${percent} % of your lifetime privacy`,
    cost: (epsilon) => `ε ${epsilon}`,
    rho: (rho) => `ρ ${rho}`,
    clear: (count) => plural(count, "answer in clear", "answers in clear"),
    unnamed: "A survey, its name is not on this device",
    capTo: (epsilon) => `Cap changed to ε ${epsilon}`,
    reserved: (count) => `${plural(count, "survey is", "surveys are")} reserved and not opened yet.`,
    caps: "Your cap",
    capsText:
      "The server refuses every survey that would take you beyond it, whatever you click. You can " +
      "lower it at once. A higher one begins a day later at the earliest, to leave time to think " +
      "again.",
    capsOwn: (epsilon) =>
      `This device stops at ε ${epsilon} by itself, even if the server does not. You can change ` +
      "that in the settings.",
    cap: "Most ε over your lifetime",
    capSave: "Change the cap",
    capNow: (epsilon) => `The server says its cap is ε ${epsilon} now.`,
    capPending: (epsilon, day) => `From ${day}: ε ${epsilon}`,
    capRaise: (epsilon) => `Raise the cap to ε ${epsilon}? It begins a day later at the earliest.`,
    capRaiseDo: "Raise it",
    capChanged: "The cap is changed.",
    capWaits: "The cap will be raised.",
    capWrong: "Please give a number above 0.",
    explain: "What is ε?",
    explainText: [
      "ε says how much anybody can learn about you from what you sent. At 0 they learn nothing.",
      "Guesses are odds: at ε = 1, odds of 1 to 1 become at most 2.7 to 1; at ε = 2, 7.4 to 1; at " +
        "ε = 10, 22 026 to 1.",
      "What you send adds up over your lifetime. That is why there is a battery, and why your " +
        "device and the server stop at your cap.",
      "δ is the chance, one in a million here, that the promise is weaker. ρ is the unit in which " +
        "masked numbers add up most tightly.",
    ],
    exporting: "Take it with you",
    exportText: "Everything the server holds about you, and what this device remembers, as a file.",
    exportDo: "Save the file",
    verify: "Entries are chained by hashes, so none can be changed unnoticed.",
  },
  settings: {
    title: "Settings",
    language: "Language",
    cap: "Your cap on this device",
    capText:
      "This device adds up what your masked answers tell, by itself, and begins no survey that " +
      "would take you beyond this ε, whatever the server says or forgets. The lower of this cap and " +
      "the server's holds.",
    capMeans: (epsilon, factor) =>
      `At ε ${epsilon}, everything this device ever sends makes any guess about your answers ` +
      `${times(factor)} as likely, in odds.`,
    capLabel: "Most ε in all",
    clearLabel: "Most answers without a mask",
    clearText: "Answers without a mask are known to whoever sees them. No ε bounds them.",
    capSave: "Change this cap",
    capSaved: "The cap on this device is changed.",
    capWrong: "Please give a number above 0 and up to 1 000 000.",
    clearWrong: "Please give a whole number from 0 on.",
    levels: "Level offered first",
    levelsText: "Only a preference, kept on this device. You choose anew for every survey.",
    strongest: "The one that hides most",
    words: "Recovery words",
    wordsText:
      "These nine words are your account. Write them down on paper and keep them to yourself: " +
      "whoever has them can see your ledger and answer in your place.",
    show: "Show the words",
    hide: "Hide the words",
    none: "You have no account yet. It is made when you begin your first survey.",
    enter: "Use an account from another device",
    enterText:
      "Type its nine words. What this device remembers of surveys it began is then deleted, " +
      "unsent answers too. What it has counted stays, and so does which surveys were masked here.",
    enterLabel: "Nine recovery words",
    enterDo: "Use this account",
    entered: "This device now uses the account of these words.",
    faults: {
      count: (given) => `These are ${given} words; there are nine.`,
      word: (word) => `"${word}" is not one of our words. Look for a slip.`,
      check: "These words do not belong together. One is mistyped, or they are in another order.",
    },
    leave: "Delete me",
    leaveText:
      "Your responses leave all surveys that are still open, and this device forgets everything. " +
      "What you were charged stays on the server under a number nobody can turn into your words, " +
      "so that returning with the same words does not refill the battery.",
    leaveSure: "I understand that this cannot be undone",
    leaveDo: "Delete me",
    left: "You are deleted",
    leftText:
      "Your responses have left all surveys that are still open, and this device has forgotten " +
      "everything. What you were charged stays on the server under a number nobody can turn into " +
      "your words, so that returning with the same words does not refill the battery.",
  },
  away: {
    title: "The survey cannot be opened now",
    text: "This device has not seen it before, so it needs the network to begin.",
  },
  about: {
    title: "About this app",
    short: "About",
    text: [
      "Masquerade asks many people and learns what they think together, without learning what " +
        "any one of them thinks.",
    ],
    list: [
      "Answers are masked on this device, before anything is sent.",
      "No cookies, no trackers, nothing loaded from any other site.",
      "Works without a network once it has been opened.",
      "Free software under the Apache licence: everybody may read it and run it.",
    ],
    build: "Which program runs here",
    buildText:
      "This build number is the SHA-256 of the program that runs in this page. Whoever publishes " +
      "Masquerade publishes this number too; if they differ, somebody changed the program.",
  },
  plain: PLAIN_ENGLISH,
};
