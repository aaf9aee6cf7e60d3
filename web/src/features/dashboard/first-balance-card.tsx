import { ArrowDownToLine, ArrowUpFromLine } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'
import { About } from '@/components/about'
import { Money } from '@/components/money'
import { Button } from '@/components/ui/button'
import type { Member } from '@/lib/member'
import { paths } from '@/lib/paths'
import { explainBalance } from './explanations'

/** When the two open, in the words of the steps. */
function opening({ verification, profile }: Member): string {
  if (profile.account_status === 'pending') return 'Deposit and Withdraw open once your account is active.'
  if (!verification.canDeposit) return 'Deposit opens after step 2, Withdraw after step 4.'
  return 'Withdraw opens after step 4.'
}

/** The balance of somebody who has still to begin: quiet, and says when its buttons are of use. */
export function FirstBalanceCard({ member }: { member: Member }) {
  const { verification, balance } = member
  const id = useId()
  return (
    <section aria-labelledby="balance" className="card-box">
      <div className="flex items-center gap-1.5 text-muted-foreground">
        <h2 id="balance" className="font-sans text-body font-normal tracking-normal">
          Withdrawable balance
        </h2>
        <About label="withdrawable balance" {...explainBalance(member)} />
      </div>
      <Money value={balance.available} size="figure" />
      <p className="text-compact text-muted-foreground">
        Only bonuses are added here. What you pay for a package is not.
      </p>
      <div className="mt-4 flex flex-wrap gap-3">
        <Button
          asChild
          variant="outline"
          className={verification.canDeposit ? undefined : 'border-border text-muted-foreground'}
        >
          <Link to={paths.deposit} aria-describedby={verification.canDeposit ? undefined : id}>
            <ArrowDownToLine aria-hidden />
            Deposit
          </Link>
        </Button>
        <Button
          asChild
          variant="outline"
          className={verification.canWithdraw ? undefined : 'border-border text-muted-foreground'}
        >
          <Link to={paths.withdraw} aria-describedby={verification.canWithdraw ? undefined : id}>
            <ArrowUpFromLine aria-hidden />
            Withdraw
          </Link>
        </Button>
      </div>
      <p id={id} className="mt-2 text-compact text-muted-foreground">
        {opening(member)}
      </p>
    </section>
  )
}
