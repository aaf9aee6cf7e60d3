import { Link } from 'react-router'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'

interface MemberLinkProps {
  profileId: string
  username: string | null
  className?: string
}

/** A member in an administrators' list: opens the details, and says the whole name where it is cut. */
export function MemberLink({ profileId, username, className }: MemberLinkProps) {
  return (
    <Link
      to={`${paths.admin.users}?user=${profileId}`}
      title={username ?? undefined}
      className={cn('rounded-mark font-semibold text-primary hover:underline', className)}
    >
      {username ?? 'Unknown'}
    </Link>
  )
}
