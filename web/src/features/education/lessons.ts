export interface Lesson {
  /** Under which a mark is kept; never changes. */
  id: string
  title: string
  text: string
}

/** Something to be sure of before a trade. */
export interface Check {
  /** Under which a tick is kept, beside the marks of lessons; never changes. */
  id: string
  text: string
}

export interface Level {
  name: 'Beginner' | 'Intermediate' | 'Advanced'
  lessons: [Lesson, Lesson, Lesson, Lesson]
  checklist: Check[]
  /** Percent shown in a demonstration until a lesson is really marked. */
  demoProgress: number
}

/** What the school teaches, in order. Definitions and habits; no recommendations and no figures of returns. */
export const levels: Level[] = [
  {
    name: 'Beginner',
    demoProgress: 72,
    lessons: [
      {
        id: 'market-and-orders',
        title: 'Markets and orders',
        text: 'A market order takes the price there is; a limit order names its own and may never be filled. The difference between the best price to buy and to sell is the spread, and you pay it each time.',
      },
      {
        id: 'reading-a-chart',
        title: 'Reading a chart',
        text: 'A candle shows the first, the last, the highest and the lowest price of a period. A chart tells what happened; it does not know what comes next.',
      },
      {
        id: 'lots-and-leverage',
        title: 'Lots and leverage',
        text: 'A lot is the size of a position. Leverage lets a small deposit move a large one, so a small move against you can take the whole deposit. Work out the worst case before you open anything.',
      },
      {
        id: 'practice-account',
        title: 'A practice account',
        text: 'MT5 offers accounts with play money. Place, change and close orders there until nothing about the program surprises you.',
      },
    ],
    checklist: [
      { id: 'check-affordable', text: 'I can afford to lose this money.' },
      { id: 'check-worst-case', text: 'I know how much this trade can lose.' },
      { id: 'check-order', text: 'I know which kind of order I am placing, and what the spread costs.' },
      { id: 'check-practice', text: 'I have done the same on a practice account.' },
    ],
  },
  {
    name: 'Intermediate',
    demoProgress: 38,
    lessons: [
      {
        id: 'stop-loss',
        title: 'Stops that hold',
        text: 'A stop order closes a losing position at about a set price. In fast markets the real price can be worse. Set it when you open the position and do not move it away from you.',
      },
      {
        id: 'position-size',
        title: 'Position size',
        text: 'Decide first how much a trade may lose, then derive its size from the distance to the stop. Many traders keep that loss near one percent of the account.',
      },
      {
        id: 'trends-and-ranges',
        title: 'Trends and ranges',
        text: 'Prices move in a direction or between two levels. Rules made for one fail in the other, so name the one you see before you use a rule.',
      },
      {
        id: 'trading-journal',
        title: 'A trading journal',
        text: 'Write down why you opened a position, what you risked and how it ended. Read it each week: mistakes repeat until they are written.',
      },
    ],
    checklist: [
      { id: 'check-stop', text: 'My stop is set.' },
      { id: 'check-size', text: 'The size follows from the stop, not from hope.' },
      { id: 'check-market', text: 'I named what I see: a trend or a range.' },
      { id: 'check-reason', text: 'I wrote down why I open it.' },
    ],
  },
  {
    name: 'Advanced',
    demoProgress: 0,
    lessons: [
      {
        id: 'testing-a-rule',
        title: 'Testing a rule',
        text: 'Test a rule on past prices it was not made from, with spread and fees. A rule that only works on the data that shaped it has learned that data by heart.',
      },
      {
        id: 'drawdown',
        title: 'Drawdown',
        text: 'Drawdown is the fall from a peak. After losing half, doubling is needed to be back. Set the drawdown at which you stop and look again.',
      },
      {
        id: 'automation',
        title: 'Automation and its limits',
        text: 'A bot follows its rule without fear and without judgement. It also repeats a wrong rule without pause. Know what a bot does before you let it trade, and how to stop it.',
      },
      {
        id: 'news-and-gaps',
        title: 'News and gaps',
        text: 'Around news prices can jump past a stop, and spreads widen. Decide beforehand whether you hold a position through an announcement.',
      },
    ],
    checklist: [
      {
        id: 'check-tested',
        text: 'My rule was tested on prices that did not shape it, with spread and fees.',
      },
      { id: 'check-drawdown', text: 'I set the drawdown at which I stop.' },
      { id: 'check-bot', text: 'I know how to stop a bot that trades for me.' },
      { id: 'check-news', text: 'I decided whether to hold through the next announcement.' },
    ],
  },
]

export const questions = [
  {
    question: 'Is this advice?',
    answer: 'No. It is learning material. What you trade, and whether you trade, is your decision.',
  },
  {
    question: 'Do I need a bot?',
    answer:
      'No. Everything here can be done by hand in MT5. Bots are free and optional; hosting costs about $5 per month.',
  },
  {
    question: 'Does trading pay my bonuses?',
    answer: 'No. Bonuses come from other members\u2019 packages, not from trading and not from bots.',
  },
  {
    question: 'Where are my marks kept?',
    answer: 'With your account. On another device you find them again.',
  },
]
