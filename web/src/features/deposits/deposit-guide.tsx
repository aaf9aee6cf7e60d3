import { Clock, Coins, ReceiptText } from 'lucide-react'

const steps = [
  { icon: Coins, text: 'Send USDT over TRC20 only.' },
  { icon: ReceiptText, text: 'The network fee is about 1-2 USDT. The full amount must arrive.' },
  { icon: Clock, text: 'Review usually within 24 hours.' },
]

export function DepositGuide() {
  return (
    <section aria-labelledby="before-you-send">
      <h2 id="before-you-send" className="text-section">
        Before you send
      </h2>
      <ul className="mt-2 divide-y border-y">
        {steps.map(({ icon: Icon, text }) => (
          <li key={text} className="flex items-start gap-3 py-2.5">
            <Icon className="mt-0.5 size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
            {text}
          </li>
        ))}
      </ul>
    </section>
  )
}
