// Privacy in plain words: one line, one minute, ten minutes. words/plain_arabic.js says the same.

export const PLAIN_ENGLISH = {
  title: "Privacy in plain words",
  lineTitle: "In one line",
  line:
    "Your device changes your answers by chance before it sends them, so nobody, the server " +
    "included, can be sure what you really said.",
  minuteTitle: "In one minute",
  minute: [
    "You answer on your own device. Before anything is sent, it throws dice. Sometimes your answer " +
      "goes out as it is, sometimes another one goes out in its place. Only your device knows which.",
    "So whoever sees what was sent, be it those who ask, the server or a thief, cannot tell whether " +
      "it was you or the dice.",
    "In a crowd the dice even out, because everybody knows how often they change an answer. So what " +
      "the crowd thinks can be worked out, with a margin of error.",
    "How much the mask hides is settled before you see the questions. Every survey uses some of your " +
      "lifetime privacy. When your cap is reached, your device and the server refuse the " +
      "next one.",
  ],
  restTitle: "In ten minutes",
  rest: [
    [
      "An example with a coin",
      "1,000 people are asked whether they ever took something from work. Each tosses a coin in " +
        "secret. Heads: they tell the truth. Tails: they toss again, and say yes at heads and no at " +
        "tails.",
      "Say that for 200 of them the truth is yes. About 350 people will say yes: 100 tell the truth, " +
        "and 250 speak for the coin. Of these 350, about 200 never took anything. So a yes proves " +
        "nothing about you.",
      "And still: about 250 yeses come from the coin, whatever the truth is. The other 100 come " +
        "from the half that told the truth. Twice 100 is 200. The crowd's secret is out, and " +
        "nobody's own.",
    ],
    [
      "How the mask is put on",
      "For choices, ratings and comparisons, the level says how often your answer is sent as it is; " +
        "otherwise one of the other answers is sent. “Prefer not to say” is an answer like the " +
        "others and is masked too. To numbers a random amount is added, so that a night can have " +
        "minus 40 hours of sleep. Odd values are normal and are needed.",
      "The chance comes from your device's operating system. All masks are drawn once and written " +
        "down before anything is sent. Nobody can draw again until the result pleases: that choice " +
        "would give you away. A reload, a crash or a lost connection leads back to the same masks.",
    ],
    [
      "What the numbers mean",
      "Suppose somebody thinks that your answer is as likely yes as no. After seeing it masked, they " +
        "can be a little surer, and each level says how much surer at most. ε (epsilon) says the same " +
        "for all guesses: the smaller, the less anybody learns.",
      "δ (delta) is a small chance that the promise is weaker, at most one in a million unless your " +
        "cap says otherwise. ρ (rho) is the unit in which the masks of many surveys are added up.",
    ],
    [
      "Why there is a battery",
      "Who could ask you the same thing often enough would see through the dice. So everything that " +
        "you send through this site is added up, and the battery shows what is left until your cap. " +
        "It never refills. You can lower the server's cap at once; a higher one has to wait. Your device " +
        "counts too, with a cap of its own, and stops at the lower one.",
      "A survey is charged when you see its questions, even if you then send nothing: which surveys " +
        "people leave in the middle would tell something too.",
      "A second account begins with a full battery, but what it sends adds to what the first one " +
        "sent, and nobody warns you. One account is safer. Other sites have a count of their own.",
    ],
    [
      "What the server keeps",
      "Your masked answers, under another random name in each survey. The days and prices of your " +
        "surveys, under a name that only your recovery words lead to. Nothing that it stores joins " +
        "the two, unless you are the only one who took part. It stores no e-mail, no network address " +
        "and no time more exact than the day.",
    ],
    [
      "What is not hidden",
      "That you took part, and when, from whoever watches the network. The level you chose. Answers " +
        "that you sent without a mask, where a survey offers that and you agree. And what a crowd has " +
        "in common: if nearly everybody at your work says the same, people will guess that you do, " +
        "whether you took part or not.",
      "Until they are sent, your true answers are on this device. Who can unlock it can see them.",
    ],
    [
      "What you can do",
      "Stop at any time. Take your answers back while the survey is open; the privacy they used does " +
        "not come back, because they have been seen. Save all that is held about you as a file. " +
        "Delete yourself, under Settings. Keep your recovery words on paper: they are the only way " +
        "back to your account.",
    ],
    [
      "Whom you have to trust",
      "Not those who ask, and not what the server keeps. But this page is a program that the server " +
        "sends, and a program that cheats could send true answers. That is why it is short, can be " +
        "read by anybody, and has a build number to compare with the published one. And trust your " +
        "own device and its browser: they see what you see.",
    ],
  ],
};
