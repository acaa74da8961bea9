//! `sys/tihdr.h`: the primitives of TPI.

#![allow(non_snake_case, reason = "the names are those of C")]

use std::ffi::{c_int, c_uint};

constants! { TIHDR:
    T_CONN_REQ: c_int = 0;
    T_CONN_RES: c_int = 1;
    T_DISCON_REQ: c_int = 2;
    T_DATA_REQ: c_int = 3;
    T_EXDATA_REQ: c_int = 4;
    T_INFO_REQ: c_int = 5;
    T_BIND_REQ: c_int = 6;
    T_UNBIND_REQ: c_int = 7;
    T_UNITDATA_REQ: c_int = 8;
    T_OPTMGMT_REQ: c_int = 9;
    T_ORDREL_REQ: c_int = 10;
    T_CONN_IND: c_int = 11;
    T_CONN_CON: c_int = 12;
    T_DISCON_IND: c_int = 13;
    T_DATA_IND: c_int = 14;
    T_EXDATA_IND: c_int = 15;
    T_INFO_ACK: c_int = 16;
    T_BIND_ACK: c_int = 17;
    T_ERROR_ACK: c_int = 18;
    T_OK_ACK: c_int = 19;
    T_UNITDATA_IND: c_int = 20;
    T_UDERROR_IND: c_int = 21;
    T_OPTMGMT_ACK: c_int = 22;
    T_ORDREL_IND: c_int = 23;
    T_ADDR_REQ: c_int = 24;
    T_ADDR_ACK: c_int = 25;
    T_OPTDATA_REQ: c_int = 26;
    T_OPTDATA_IND: c_int = 27;
    T_CAPABILITY_REQ: c_int = 28;
    T_CAPABILITY_ACK: c_int = 29;
    TS_UNBND: c_int = 0;
    TS_WACK_BREQ: c_int = 1;
    TS_WACK_UREQ: c_int = 2;
    TS_IDLE: c_int = 3;
    TS_WACK_OPTREQ: c_int = 4;
    TS_WACK_CREQ: c_int = 5;
    TS_WCON_CREQ: c_int = 6;
    TS_WRES_CIND: c_int = 7;
    TS_WACK_CRES: c_int = 8;
    TS_DATA_XFER: c_int = 9;
    TS_WIND_ORDREL: c_int = 10;
    TS_WREQ_ORDREL: c_int = 11;
    TS_WACK_DREQ6: c_int = 12;
    TS_WACK_DREQ7: c_int = 13;
    TS_WACK_DREQ9: c_int = 14;
    TS_WACK_DREQ10: c_int = 15;
    TS_WACK_DREQ11: c_int = 16;
    TS_NOSTATES: c_int = 17;
}

structures! { TIHDR_LAYOUTS:
    T_conn_req {
        PRIM_type: c_int,
        DEST_length: c_int,
        DEST_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_conn_res {
        PRIM_type: c_int,
        ACCEPTOR_id: c_uint,
        OPT_length: c_int,
        OPT_offset: c_int,
        SEQ_number: c_int,
    }
    T_discon_req {
        PRIM_type: c_int,
        SEQ_number: c_int,
    }
    T_data_req {
        PRIM_type: c_int,
        MORE_flag: c_int,
    }
    T_exdata_req {
        PRIM_type: c_int,
        MORE_flag: c_int,
    }
    T_info_req {
        PRIM_type: c_int,
    }
    T_bind_req {
        PRIM_type: c_int,
        ADDR_length: c_int,
        ADDR_offset: c_int,
        CONIND_number: c_uint,
    }
    T_unbind_req {
        PRIM_type: c_int,
    }
    T_unitdata_req {
        PRIM_type: c_int,
        DEST_length: c_int,
        DEST_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_optmgmt_req {
        PRIM_type: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
        MGMT_flags: c_int,
    }
    T_ordrel_req {
        PRIM_type: c_int,
    }
    T_conn_ind {
        PRIM_type: c_int,
        SRC_length: c_int,
        SRC_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
        SEQ_number: c_int,
    }
    T_conn_con {
        PRIM_type: c_int,
        RES_length: c_int,
        RES_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_discon_ind {
        PRIM_type: c_int,
        DISCON_reason: c_int,
        SEQ_number: c_int,
    }
    T_data_ind {
        PRIM_type: c_int,
        MORE_flag: c_int,
    }
    T_exdata_ind {
        PRIM_type: c_int,
        MORE_flag: c_int,
    }
    T_info_ack {
        PRIM_type: c_int,
        TSDU_size: c_int,
        ETSDU_size: c_int,
        CDATA_size: c_int,
        DDATA_size: c_int,
        ADDR_size: c_int,
        OPT_size: c_int,
        TIDU_size: c_int,
        SERV_type: c_int,
        CURRENT_state: c_int,
        PROVIDER_flag: c_int,
    }
    T_bind_ack {
        PRIM_type: c_int,
        ADDR_length: c_int,
        ADDR_offset: c_int,
        CONIND_number: c_uint,
    }
    T_error_ack {
        PRIM_type: c_int,
        ERROR_prim: c_int,
        TLI_error: c_int,
        UNIX_error: c_int,
    }
    T_ok_ack {
        PRIM_type: c_int,
        CORRECT_prim: c_int,
    }
    T_unitdata_ind {
        PRIM_type: c_int,
        SRC_length: c_int,
        SRC_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_uderror_ind {
        PRIM_type: c_int,
        DEST_length: c_int,
        DEST_offset: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
        ERROR_type: c_int,
    }
    T_optmgmt_ack {
        PRIM_type: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
        MGMT_flags: c_int,
    }
    T_ordrel_ind {
        PRIM_type: c_int,
    }
    T_addr_req {
        PRIM_type: c_int,
    }
    T_addr_ack {
        PRIM_type: c_int,
        LOCADDR_length: c_int,
        LOCADDR_offset: c_int,
        REMADDR_length: c_int,
        REMADDR_offset: c_int,
    }
    T_optdata_req {
        PRIM_type: c_int,
        DATA_flag: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_optdata_ind {
        PRIM_type: c_int,
        DATA_flag: c_int,
        OPT_length: c_int,
        OPT_offset: c_int,
    }
    T_capability_req {
        PRIM_type: c_int,
        CAP_bits1: c_uint,
    }
    T_capability_ack {
        PRIM_type: c_int,
        CAP_bits1: c_uint,
        INFO_ack: T_info_ack,
        ACCEPTOR_id: c_uint,
    }
}
