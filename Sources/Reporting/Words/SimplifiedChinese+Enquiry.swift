import Reconciliation

extension SimplifiedChinese {
    func text(ofLabel label: EnquiryPhrase.Label) -> String {
        switch label {
        case .zone: "时间均为 {zone} 时区。"
        case .cut: "所知多于此处所列；请用交易号查询。"
        case .comma: "，"
        case .transaction: "交易 {id}，{app}，{environment}"
        case .transactionOfApple: "交易 {id}，{app}，{environment}，Apple 现在所告知"
        case .order: "订单 {id}，{app}"
        case .user: "用户 {id}"
        case .claims: "领取了尚未验证的交易"
        case .receipts: "尚未验证的票据"
        case .appleNotAsked: "没有询问 Apple"
        case .appleAsked: "就 {app} 询问 Apple"
        case .product: "商品"
        case .price: "价格"
        case .purchased: "付款时间"
        case .original: "原始交易"
        case .place: "所在"
        case .verifiedBy: "验证方式"
        case .seen: "见于"
        case .claimLine: "领取"
        case .caseLine: "漏单"
        case .events: "经过"
        case .verdict: "结论"
        case .created: "创建时间"
        case .userLine: "用户"
        case .receiptsLine: "票据"
        case .deliveries: "发货"
        case .receiptLine: "票据 {id}"
        case .refunded: "退款时间"
        case .token: "令牌"
        }
    }

    func text(ofLine line: EnquiryPhrase.Line) -> String {
        switch line {
        case .quantity: "，数量 {n}"
        case .none: "无"
        case .inNoReceipt: "不在任何票据中"
        case .white: "白表：已付款，未领取；自 {time} 起已知"
        case .confirmed: "确认了 {nights}，最近一次验证于 {time}"
        case .admitted: "由应用服务器为 {user} 登记"
        case .black: "黑表：{delivery}"
        case .excluded: "自 {time} 起排除：{cause}"
        case .excludedAndRefunded: "；{time} 退款"
        case .delivered: "{time} {who}发货{user}{order}{refund}"
        case .toUser: "给 {user}"
        case .forOrder: "，订单 {order}"
        case .byServer: "由应用服务器"
        case .byGrant: "随应用服务器开通的权益"
        case .byDesk: "由客服"
        case .byImport: "经导入"
        case .refundedByApple: "；Apple 于 {time} 退款"
        case .sighting: "{how}，{who}{order}"
        case .candidate: "{user}：{evidence}"
        case .caseOpened: "可能性{likelihood}，{time} 列为漏单"
        case .caseClosed: "{time} 由 {who} 结案：{how}{note}"
        case .withNote: "：{note}"
        case .event: "{what}，{who}{run}"
        case .inRun: "，第 {run} 次运行"
        case .detail: "；{name}：{value}"
        case .receiptsOfUser: "{receipts} 张：{waiting} 张等待验证，{watched} 张含有无人领取的购买"
        case .claimOf: "{id}，{app}"
        case .uploaded: "{time} 上传，{who}"
        case .waitsForNight: "等待第一个夜晚。"
        case .triedOn: "{problem}{detail} 已连续 {nights}如此。"
        }
    }

    func text(ofVerdict verdict: EnquiryPhrase.Verdict) -> String {
        switch verdict {
        case .isDelivered: "已于 {time} 发货"
        case .isDeliveredTo: "已于 {time} 发货给 {user}"
        case .andRefunded: "，并于 {time} 退款"
        case .isOwed: "已付款，未发货：{advice}"
        case .isContested: "已付款，未发货；上一晚之后又有证据指向其他人：{users}；请先确认是谁购买，再用 resolve --user 指明"
        case .isRedelivered: "已付款，由应用服务器自行发货给 {user}：{who} 于 {time} 下达，{taken}"
        case .takenByServer: "服务器最近于 {time} 取走"
        case .notTaken: "服务器尚未取走"
        case .notJudged: "还没有运行判断过它，或者不查看这类商品"
        case .isPending: "已付款，未发货：客户端仍可能领取；从 {time} 起算作漏单"
        case .isRefunded: "已退款"
        case .isRefundedSince: "已于 {time} 退款"
        case .notOwed: "不欠：{cause}"
        case .isUnseen: "Apple 称已于 {time} 付款，未发货：没有收到含有它的票据；用 {command} 把它收入账本"
        case .isWaiting: "尚未验证：它的票据等待夜间运行"
        case .isUnusable: "未能验证：{problem}{action}"
        case .isUnpaidOrder: "就所知没有付款：这个订单没有对应的购买"
        case .nothingOpen: "这个用户没有已知的未结购买；列出 {deliveries}，{receipts}"
        case .notPaid: "就 Apple 所知没有付款"
        case .isUnknown: "未知：没有已知的购买、订单或用户使用这个编号"
        case .several: "{total} 笔交易：{counts}"
        case .severalOwed: "{n} 笔未发货"
        case .severalDelivered: "{n} 笔已发货"
        case .severalRefunded: "{n} 笔已退款"
        case .severalOthers: "{n} 笔其他"
        }
    }

    func counted(_ number: Int, _ count: EnquiryCount) -> String {
        switch count {
        case .nights: "\(number) 晚"
        case .deliveries: "\(number) 次发货"
        case .waitingReceipts: "\(number) 张票据等待验证"
        }
    }

    func name(of evidence: Evidence) -> String {
        switch evidence {
        case .accountToken: "购买所带的账户令牌"
        case .admitted: "应用服务器登记"
        case .toldSupport: "客服说明"
        case .order: "订单"
        case .uploaded: "为它上传"
        case .mentioned: "上传时提及"
        case .claimed: "曾领取"
        case .carried: "上传的票据含有它"
        case .history: "Apple 的购买记录"
        case .companion: "同一票据的其他购买已发给此人"
        case .account: "同一 Apple 顾客的其他购买已发给此人"
        }
    }

    func name(of type: ProductType) -> String {
        switch type {
        case .consumable: "消耗型"
        case .nonConsumable: "非消耗型"
        case .autoRenewable: "自动续期订阅"
        case .nonRenewing: "非续期订阅"
        }
    }

    func name(ofEvent kind: String) -> String {
        switch kind {
        case "claimed": "领取"
        case "resolved": "客服处理"
        case "delivered": "已发货"
        case "dismissed": "无需处理"
        case "imported": "导入"
        case "withdrawn": "撤回"
        case "refunded": "退款"
        case "refund_reversed": "退款撤销"
        case "released": "恢复为应发"
        case "reopened": "重新打开"
        case "corrected": "按 Apple 所告知更正"
        case "entitled": "权益已开通"
        case "revoked": "权益已收回"
        case "adopted": "收入账本"
        case "noted": "备注"
        case "taken": "开始处理"
        case "freed": "不再处理"
        case "redelivery_ordered": "已安排补发"
        case "redelivered": "已补发"
        case "case_opened": "列为漏单"
        case "case_changed": "重新判断"
        case "case_reopened": "重新列为漏单"
        case "case_withdrawn": "撤销漏单"
        default: kind.replacing("_", with: " ")
        }
    }

    func name(ofDetail key: String) -> String {
        switch key {
        case "as": "处理为"
        case "delivered_as": "已按此交易号发货"
        case "dismissed_as": "已按此交易号判定无需处理"
        case "from_original": "原记原始交易号"
        case "from_period": "原记订阅期"
        case "from_refund_percentage": "原退款比例"
        case "likelihood": "可能性"
        case "note": "备注"
        case "order_id": "订单"
        case "owner_user_ids": "归属用户"
        case "reasons": "原因"
        case "refunded_as": "已按此交易号退款"
        case "to_refund_percentage": "退款比例"
        case "user_id": "用户"
        case "was": "原为"
        default: key.replacing("_", with: " ")
        }
    }

    func sentence(_ cause: NotOwed.Cause) -> String {
        switch cause {
        case .dismissed: "客服判定无需处理"
        case .rule(.foreignBundle): "票据属于其他应用"
        case .rule(.sandbox): "产生于与应用不同的环境，没有人付款"
        case .rule(.refunded): "已退款"
        case .rule(.familyShared): "由他人付款：家庭成员，或为他人购买席位者"
        case .rule(.upgraded): "已被升级取代"
        case .rule(.invalidQuantity): "数量不是一笔购买"
        case .rule(.beforeStart): "早于应用的记录"
        case .rule(.restored): "恢复了另一交易号下已知的购买"
        }
    }
}
