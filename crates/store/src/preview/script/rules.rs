//! What a plain script may contain: kinds of statements and kinds of expressions. The lists are
//! complete, so whatever is missing here is opaque. Names are those of PostgreSQL's parse tree.

use pg_query::protobuf::ObjectType;

/// Statements whose whole effect is undone by a rollback and visible in the catalogue or in the row
/// counts, and which run no code of the author.
const STATEMENTS: &[&str] = &[
    "AlterDefaultPrivilegesStmt",
    "AlterDomainStmt",
    "AlterEnumStmt",
    "AlterObjectSchemaStmt",
    "AlterOwnerStmt",
    "AlterPolicyStmt",
    "AlterSeqStmt",
    "AlterTableStmt",
    "CommentStmt",
    "CompositeTypeStmt",
    "CreateDomainStmt",
    "CreateEnumStmt",
    "CreatePolicyStmt",
    "CreateSchemaStmt",
    "CreateSeqStmt",
    "CreateStatsStmt",
    "CreateStmt",
    "CreateTableAsStmt",
    "DeleteStmt",
    "DropStmt",
    "GrantStmt",
    "IndexStmt",
    "InsertStmt",
    "MergeStmt",
    "RefreshMatViewStmt",
    "RenameStmt",
    "SelectStmt",
    "TruncateStmt",
    "UpdateStmt",
    "ViewStmt",
];

/// The parts of these statements.
const PARTS: &[&str] = &[
    "AArrayExpr",
    "AConst",
    "AExpr",
    "AIndices",
    "AIndirection",
    "AStar",
    "AccessPriv",
    "Alias",
    "AlterTableCmd",
    "BitString",
    "BoolExpr",
    "Boolean",
    "BooleanTest",
    "CaseExpr",
    "CaseWhen",
    "CoalesceExpr",
    "CollateClause",
    "ColumnDef",
    "ColumnRef",
    "CommonTableExpr",
    "Constraint",
    "DefElem",
    "Float",
    "FuncCall",
    "FunctionParameter",
    "GroupingFunc",
    "GroupingSet",
    "IndexElem",
    "InferClause",
    "Integer",
    "JoinExpr",
    "List",
    "LockingClause",
    "MergeWhenClause",
    "MinMaxExpr",
    "MultiAssignRef",
    "NamedArgExpr",
    "NullTest",
    "ObjectWithArgs",
    "PartitionBoundSpec",
    "PartitionCmd",
    "PartitionElem",
    "PartitionRangeDatum",
    "PartitionSpec",
    "RangeFunction",
    "RangeSubselect",
    "RangeVar",
    "ReplicaIdentityStmt",
    "ResTarget",
    "RoleSpec",
    "RowExpr",
    "SetToDefault",
    "SortBy",
    "SqlvalueFunction",
    "StatsElem",
    "String",
    "SubLink",
    "TableLikeClause",
    "TypeCast",
    "TypeName",
    "WindowDef",
];

pub(super) fn is_plain_statement(node: &str) -> bool {
    STATEMENTS.contains(&node)
}

pub(super) fn is_plain_node(node: &str) -> bool {
    is_plain_statement(node) || PARTS.contains(&node)
}

/// Returns the field of a statement that holds the kind of its object. The statement is plain only
/// for some kinds, since others run code or are not compared with the catalogue.
pub(super) fn object_field(node: &str) -> Option<&'static str> {
    match node {
        "AlterTableStmt" | "CommentStmt" | "CreateTableAsStmt" | "GrantStmt" => Some("objtype"),
        "AlterObjectSchemaStmt" | "AlterOwnerStmt" => Some("object_type"),
        "DropStmt" => Some("remove_type"),
        "RenameStmt" => Some("rename_type"),
        _ => None,
    }
}

/// Returns whether the statement is plain for objects of this kind. A renamed function, operator or
/// schema could be called under the name of a listed function.
pub(super) fn is_plain_object(node: &str, kind: ObjectType) -> bool {
    use ObjectType as Of;
    let is_relation = matches!(
        kind,
        Of::ObjectTable | Of::ObjectIndex | Of::ObjectView | Of::ObjectMatview | Of::ObjectSequence
    );
    let is_type = matches!(kind, Of::ObjectType | Of::ObjectDomain);
    let is_part = matches!(
        kind,
        Of::ObjectColumn
            | Of::ObjectAttribute
            | Of::ObjectTabconstraint
            | Of::ObjectDomconstraint
            | Of::ObjectPolicy
            | Of::ObjectTrigger
            | Of::ObjectRule
    );
    let is_routine = matches!(
        kind,
        Of::ObjectFunction | Of::ObjectProcedure | Of::ObjectRoutine | Of::ObjectAggregate
    );
    match node {
        "AlterTableStmt" | "AlterObjectSchemaStmt" | "CreateTableAsStmt" => is_relation || is_type,
        "AlterOwnerStmt" => is_relation || is_type || kind == Of::ObjectSchema,
        "RenameStmt" => is_relation || is_type || is_part,
        "GrantStmt" => is_relation || is_type || is_routine || kind == Of::ObjectSchema,
        "CommentStmt" | "DropStmt" => {
            is_relation || is_type || is_part || is_routine || kind == Of::ObjectSchema
        }
        _ => false,
    }
}

/// Returns how people write a statement that is not plain.
pub(super) fn keywords(node: &str) -> &'static str {
    match node {
        "AlterTableStmt" => "ALTER of this kind of object",
        "CallStmt" => "CALL",
        "ClosePortalStmt" | "DeclareCursorStmt" | "FetchStmt" => "a cursor",
        "CopyStmt" => "COPY",
        "CreateEventTrigStmt" | "AlterEventTrigStmt" => "an event trigger",
        "CreateExtensionStmt" | "AlterExtensionStmt" => "an extension",
        "CreateForeignTableStmt" | "CreateForeignServerStmt" | "CreateUserMappingStmt" => {
            "a foreign table or server"
        }
        "CreateFunctionStmt" | "AlterFunctionStmt" => "a function",
        "CreateRoleStmt" | "AlterRoleStmt" | "AlterRoleSetStmt" | "DropRoleStmt"
        | "GrantRoleStmt" => "a role",
        "CreateTrigStmt" => "CREATE TRIGGER",
        "DefineStmt" => "an operator, aggregate or similar object",
        "DiscardStmt" => "DISCARD",
        "DoStmt" => "DO",
        "ExecuteStmt" | "PrepareStmt" | "DeallocateStmt" => "a prepared statement",
        "ExplainStmt" => "EXPLAIN",
        "ListenStmt" | "NotifyStmt" | "UnlistenStmt" => "LISTEN or NOTIFY",
        "LoadStmt" => "LOAD",
        "LockStmt" => "LOCK",
        "RangeTableSample" => "TABLESAMPLE",
        "RuleStmt" => "CREATE RULE",
        "TransactionStmt" => "transaction control",
        "VariableSetStmt" | "VariableShowStmt" | "ConstraintsSetStmt" => "SET or SHOW",
        _ => "this kind of statement",
    }
}
