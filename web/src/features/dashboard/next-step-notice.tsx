import { Link } from 'react-router'
import { Notice } from '@/components/notice'
import type { Member } from '@/lib/member'
import { nextStepOf, pendingDeposit } from './next-steps'

/** Where a step is done: what comes after it, while it leads elsewhere and no money is on its way. */
export function NextStepNotice({ member, here }: { member: Member; here: string }) {
  if (member.verification.verificationStep === 'complete' || pendingDeposit(member)) return null
  const { title, action } = nextStepOf(member)
  if (action.to === here) return null
  return (
    <Notice tone="info" role="status" className="mt-5">
      Your next step: {title}.{' '}
      <Link to={action.to} className="text-link">
        {action.label}
      </Link>
    </Notice>
  )
}
