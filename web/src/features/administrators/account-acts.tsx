import { useState } from 'react'
import { ReasonDialog } from '@/components/reason-dialog'
import { Change, ReviewDialog, type Fact } from '@/components/review-dialog'
import { toasts } from '@/lib/toast-queue'
import { Button } from '@/components/ui/button'
import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { useAccountAct, type Account, type AccountAct } from './api'
import { roles, roleWord } from './roles'

interface Plan {
  title: string
  act: Extract<AccountAct, { action: 'update' | 'reset_password' }>
  change: Fact | null
  warning: string
  verb: string
  done: string
  destructive: boolean
}

/** What may be done to another account, one entry of the menu each. */
function plansOf(account: Account): Plan[] {
  const name = account.full_name ?? account.email
  const adminId = account.id
  const moves = roles
    .filter((role) => role !== account.role)
    .map((role): Plan => ({
      title: `Change ${name}’s role to ${roleWord(role)}?`,
      act: { action: 'update', adminId, role },
      change: {
        label: 'Role',
        value: <Change from={roleWord(account.role)} to={roleWord(role)} />,
      },
      warning: 'Their sessions end immediately; they sign in again with the new role.',
      verb: `Change role to ${roleWord(role)}`,
      done: 'Role changed',
      destructive: false,
    }))
  const turn: Plan = account.is_active
    ? {
        title: `Deactivate ${name}?`,
        act: { action: 'update', adminId, isActive: false },
        change: { label: 'Status', value: <Change from="Active" to="Inactive" /> },
        warning: 'Their sessions end immediately and they cannot sign in.',
        verb: 'Deactivate',
        done: 'Account deactivated',
        destructive: true,
      }
    : {
        title: `Activate ${name}?`,
        act: { action: 'update', adminId, isActive: true },
        change: { label: 'Status', value: <Change from="Inactive" to="Active" /> },
        warning: 'They can sign in again.',
        verb: 'Activate',
        done: 'Account activated',
        destructive: false,
      }
  const password: Plan = {
    title: `Reset ${name}’s password?`,
    act: { action: 'reset_password', adminId },
    change: null,
    warning: 'The present password stops working and their sessions end. The new one is shown once.',
    verb: 'Reset password',
    done: 'Password reset',
    destructive: true,
  }
  return [...moves, password, turn]
}

interface AccountActsProps {
  account: Account
  onPassword: (email: string, password: string) => void
}

/** The menu of one account, with a question before each act. */
export function AccountActs({ account, onPassword }: AccountActsProps) {
  const act = useAccountAct()
  const [plan, setPlan] = useState<Plan | null>(null)
  const [resetting, setResetting] = useState(false)
  const facts: Fact[] = [{ label: 'Account', value: <span className="no-kerning">{account.email}</span> }]
  return (
    <>
      <DropdownMenu>
        <DropdownMenuTrigger asChild>
          <Button variant="outline" size="row" aria-label={`Change ${account.email}`}>
            Change
          </Button>
        </DropdownMenuTrigger>
        <DropdownMenuContent>
          {plansOf(account).map((one) => (
            <DropdownMenuItem key={one.verb} onSelect={() => setPlan(one)}>
              {one.verb}
            </DropdownMenuItem>
          ))}
          {account.two_step ? (
            <DropdownMenuItem onSelect={() => setResetting(true)}>Remove second step</DropdownMenuItem>
          ) : null}
        </DropdownMenuContent>
      </DropdownMenu>
      {plan ? (
        <ReviewDialog
          open
          onClose={() => setPlan(null)}
          title={plan.title}
          facts={plan.change ? [...facts, plan.change] : facts}
          warning={plan.warning}
          confirmLabel={plan.verb}
          busyLabel="Saving..."
          lateText="No response yet. You can safely try again; the change is made only once."
          destructive={plan.destructive}
          errorFallback="The account could not be changed."
          onConfirm={async () => {
            const { password } = await act.mutateAsync(plan.act)
            if (password) onPassword(account.email, password)
            toasts.success(plan.done)
            setPlan(null)
          }}
        />
      ) : null}
      {resetting ? (
        <ReasonDialog
          title={`Remove the second step of ${account.email}?`}
          facts={facts}
          warning="Their sessions end immediately. They set up a new device after signing in."
          label="How you verified their identity"
          note="Kept in the audit log"
          confirmLabel="Remove second step"
          busyLabel="Removing..."
          destructive
          errorFallback="The second step could not be removed."
          onClose={() => setResetting(false)}
          onConfirm={async (reason) => {
            await act.mutateAsync({ action: 'reset_two_step', adminId: account.id, reason })
            toasts.success('Second step removed')
            setResetting(false)
          }}
        />
      ) : null}
    </>
  )
}
